import type { ObjectMeta, WorkflowDefinition } from '../definition.js';
import { isObject, own, type JsonObject } from '../json.js';
import type { Cursor } from './cursor.js';
import { integer, object, text } from './fields.js';
import { readWorkflow } from './workflow.js';

/** Group of the Kubernetes objects. */
export const API_GROUP = 'toolhive.stacklok.dev';
/** Kind of a workflow. */
export const DEFINITION_KIND = 'VirtualMCPCompositeToolDefinition';
/** Kind of a server that offers workflows. */
export const SERVER_KIND = 'VirtualMCPServer';

const CURRENT = `${API_GROUP}/v1beta1`;
const DEPRECATED = `${API_GROUP}/v1alpha1`;

/** Reads a workflow in the form of a Kubernetes object. */
export function readKubernetesWorkflow(root: Cursor): WorkflowDefinition {
  root.allowKeys(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  const apiVersion = readApiVersion(root.get('apiVersion'));
  const metadata = readMetadata(root.get('metadata'));
  const spec = root.get('spec');
  if (!isObject(spec.value)) {
    spec.report('workflow/required', 'spec is required', { hint: 'add spec: with name, description and steps' });
  }
  return readWorkflow(spec, {
    form: 'kubernetes',
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(metadata === undefined ? {} : { metadata }),
  });
}

/** Reads the version of a Kubernetes object of this group. */
export function readApiVersion(field: Cursor): string | undefined {
  const version = text(field, 'workflow/api-version');
  const hint = `write apiVersion: ${CURRENT}`;
  if (version === undefined) {
    if (!field.present) field.report('workflow/api-version', 'apiVersion is required', { hint });
  } else if (version === DEPRECATED) {
    field.report('workflow/deprecated', `apiVersion ${version} is deprecated`, { hint, severity: 'warning' });
  } else if (version !== CURRENT) {
    field.report('workflow/api-version', `apiVersion must be ${CURRENT} (got ${JSON.stringify(version)})`, { hint });
  }
  return version;
}

/** Reads metadata; keys that are not known are kept. */
export function readMetadata(field: Cursor): ObjectMeta | undefined {
  const metadata = object(field, 'workflow/metadata');
  const name = field.get('name');
  const written = text(name, 'workflow/metadata');
  const hint = 'write metadata: {name: deploy-app}';
  if (!name.present || written === '') {
    name.report('workflow/metadata', 'metadata.name is required', { hint });
  } else if (written !== undefined && !isSubdomain(written)) {
    const message = `metadata.name must be a DNS-1123 subdomain of at most 253 characters (got ${JSON.stringify(written)})`;
    name.report('workflow/metadata', message, { hint: 'use lower-case letters, digits, "-" and "."' });
  }
  text(field.get('namespace'), 'workflow/metadata');
  integer(field.get('generation'), 'workflow/metadata');
  object(field.get('labels'), 'workflow/metadata');
  object(field.get('annotations'), 'workflow/metadata');
  return metadata === undefined || written === undefined ? undefined : cleaned(metadata, written);
}

/** Without values of a wrong type, which have been reported. */
function cleaned(metadata: JsonObject, name: string): ObjectMeta {
  const right = (key: string, fits: boolean): boolean => own(metadata, key) === undefined || fits;
  const wrong = new Set<string>();
  if (!right('namespace', typeof own(metadata, 'namespace') === 'string')) wrong.add('namespace');
  if (!right('generation', typeof own(metadata, 'generation') === 'number')) wrong.add('generation');
  if (!right('labels', isObject(own(metadata, 'labels')))) wrong.add('labels');
  if (!right('annotations', isObject(own(metadata, 'annotations')))) wrong.add('annotations');
  return { ...Object.fromEntries(Object.entries(metadata).filter(([key]) => !wrong.has(key))), name };
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}
