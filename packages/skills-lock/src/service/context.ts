import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isUnambiguousReference, parseReference } from '@thv/oci-skills';
import type { Registry, SkillStore as ArtifactStore, TrustOptions } from '@thv/oci-skills';
import type { SkillClient } from '../clients.js';
import { parseGitReference } from '../git/reference.js';
import type { GitResolver } from '../git/resolve.js';
import type { ReferenceRules } from '../lock/rules.js';
import type { Catalogue, Groups } from '../ports.js';
import type { SkillStore } from '../store/port.js';

/** The parts that {@link createSkillService} puts together. */
export interface SkillServiceOptions {
  /** Records of installed skills. */
  readonly store: SkillStore;
  /** Local builds and pulled artifacts. */
  readonly artifacts: ArtifactStore;
  readonly registry: Registry;
  readonly git: GitResolver;
  readonly groups?: Groups;
  readonly catalogue?: Catalogue;
  /** Absolute path of the user's home. */
  readonly home: string;
  /** Folder for locks between processes and for what undoes an interrupted change. */
  readonly stateFolder: string;
  /** Where a project root is searched from when none is named. @defaultValue none is searched */
  readonly workingFolder?: string;
  /** `COSIGN_PASSWORD`, `SOURCE_DATE_EPOCH`, `TOOLHIVE_SIGSTORE_FULCIO_URL`, `TOOLHIVE_SIGSTORE_REKOR_URL`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @defaultValue the public Sigstore instance */
  readonly trust?: TrustOptions;
  /** Whether the path of a signing key may be named in a request: only where the caller is this user. @defaultValue true */
  readonly allowKeyPaths?: boolean;
  /** @defaultValue whether one of its marks exists in the home directory */
  readonly isClientInstalled?: (client: SkillClient) => boolean;
  readonly platform?: NodeJS.Platform;
  /** RFC 3339. @defaultValue the system's time in seconds */
  readonly now?: () => string;
}

/** The options with their defaults, as every part of the service takes them. */
export interface ServiceContext extends Omit<SkillServiceOptions, 'env' | 'now' | 'isClientInstalled'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => string;
  readonly isClientInstalled: (client: SkillClient) => boolean;
}

/** Fills in the defaults. */
export function createContext(options: SkillServiceOptions): ServiceContext {
  return {
    ...options,
    env: options.env ?? {},
    now: options.now ?? (() => new Date().toISOString().replace(/\.\d+Z$/, 'Z')),
    isClientInstalled:
      options.isClientInstalled ??
      (({ marks }) => marks.some((mark) => existsSync(join(options.home, ...mark.split('/'))))),
  };
}

/** What a reference of a lock file may be. */
export const references: ReferenceRules = {
  kindOf(reference) {
    if (reference.startsWith('git://')) {
      parseGitReference(reference);
      return 'git';
    }
    parseReference(reference, { mode: 'strict' });
    return 'oci';
  },
};

/** True for text that a catalogue may know although it reads like an OCI reference: `namespace/name`. */
export const mayBeCatalogueName = (text: string): boolean => !isUnambiguousReference(text);

/** A name for the lock of a project, or of the user scope. */
export function lockName(projectRoot: string | undefined): string {
  return projectRoot === undefined ? 'user' : createHash('sha256').update(projectRoot).digest('hex').slice(0, 32);
}
