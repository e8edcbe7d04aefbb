import { isObject } from '../json.js';
import type { Cursor } from './cursor.js';
import { text } from './fields.js';
import { readMetadata } from './kubernetes.js';
import type { Place } from './place.js';

/** A reference to a workflow by the name of its Kubernetes object. */
export interface ToolReferenceEntry extends Partial<Place> {
  readonly name: string;
  /** Such as `spec.compositeToolRefs[0]`. */
  readonly path: string;
}

/** A server that offers workflows as tools. */
export interface WorkflowServer {
  readonly name: string;
  /** @defaultValue 'default' */
  readonly namespace: string;
  /** The group whose backends it joins; absent where the file does not say. */
  readonly group?: string;
  /** Workflows by the names of their Kubernetes objects, in order and without repetition. */
  readonly compositeToolRefs: readonly ToolReferenceEntry[];
}

/** Reads a server in the form of a Kubernetes object; only what concerns workflows, the rest is left to others. */
export function readKubernetesServer(root: Cursor): WorkflowServer {
  const metadata = readMetadata(root.get('metadata'));
  const spec = root.get('spec');
  const config = spec.get('config');
  const group = readGroup(spec.get('groupRef')) ?? readGroup(config.get('groupRef')) ?? readGroup(config.get('group'));
  return {
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? 'default',
    ...(group === undefined ? {} : { group }),
    compositeToolRefs: readReferences([spec.get('compositeToolRefs'), config.get('compositeToolRefs')]),
  };
}

/** Reads what concerns workflows in the configuration file of a server. */
export function readPlainServer(root: Cursor): WorkflowServer {
  const group = readGroup(root.get('groupRef')) ?? readGroup(root.get('group'));
  return {
    name: text(root.get('name'), 'workflow/reference') ?? '',
    namespace: 'default',
    ...(group === undefined ? {} : { group }),
    compositeToolRefs: readReferences([root.get('compositeToolRefs')]),
  };
}

/** Either the name itself, or an object with it. */
function readGroup(field: Cursor): string | undefined {
  return text(isObject(field.value) ? field.get('name') : field, 'workflow/reference');
}

function readReferences(fields: readonly Cursor[]): ToolReferenceEntry[] {
  const found = new Map<string, ToolReferenceEntry>();
  for (const field of fields) {
    if (field.present && !Array.isArray(field.value)) {
      field.report('workflow/reference', `${field.path} must be a list`, { hint: 'write - name: deploy-app' });
    }
    for (const item of field.items()) {
      const name = item.get('name');
      const written = text(name, 'workflow/reference');
      if (written === undefined || written === '') {
        if (written === '' || !name.present) {
          name.report('workflow/reference', `${item.path}.name is required`, { hint: 'write - name: deploy-app' });
        }
      } else if (found.has(written)) {
        const message = `duplicate composite tool reference: ${written}`;
        item.report('workflow/reference', message, { hint: 'keep one of the two' });
      } else {
        found.set(written, { name: written, path: item.path, ...name.place });
      }
    }
  }
  return [...found.values()];
}
