import type { CatalogueProvenance } from '@thv/oci-skills';

/** Groups of skills and servers; the names of the skills of a group have no scope. */
export interface Groups {
  exists(group: string): Promise<boolean>;
  skillsOf(group: string): Promise<readonly string[]>;
  /** False when the skill was in the group already. */
  addSkill(group: string, skill: string): Promise<boolean>;
  removeSkill(group: string, skill: string): Promise<void>;
  /** Removes a skill from every group. */
  removeSkillFromAll(skill: string): Promise<void>;
}

/** A place that a catalogue entry can be installed from. */
export type CataloguePackage =
  | { readonly kind: 'oci'; readonly identifier: string }
  | {
      readonly kind: 'git';
      readonly url: string;
      readonly subfolder?: string;
      readonly ref?: string;
      readonly commit?: string;
    };

/** A skill that a catalogue offers. */
export interface CatalogueSkill {
  readonly namespace: string;
  readonly name: string;
  readonly packages: readonly CataloguePackage[];
  readonly provenance?: CatalogueProvenance;
}

/** A list of skills by name, such as a registry of an organisation. */
export interface Catalogue {
  /** Every skill whose name is `name`, in any namespace; compared without regard to case. */
  find(name: string, options: { readonly signal?: AbortSignal }): Promise<readonly CatalogueSkill[]>;
}
