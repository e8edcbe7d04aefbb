import type { JsonObject } from '../json.js';
import { closed, definitions } from './parts.js';

const DEFINITION = 'VirtualMCPCompositeToolDefinition';
const LIST_KEYS: readonly JsonObject[] = [{ required: ['compositeTools'] }, { required: ['compositeToolRefs'] }];

const kubernetes = closed(
  {
    apiVersion: { enum: ['toolhive.stacklok.dev/v1beta1', 'toolhive.stacklok.dev/v1alpha1'] },
    kind: { const: DEFINITION },
    metadata: {
      type: 'object',
      properties: { name: { type: 'string', minLength: 1, maxLength: 253 }, namespace: { type: 'string' } },
      required: ['name'],
    },
    spec: { $ref: '#/$defs/workflow' },
    status: { type: 'object', description: 'Written by a controller; not read.' },
  },
  ['apiVersion', 'kind', 'metadata', 'spec'],
  'A workflow as a Kubernetes object.',
);

const list: JsonObject = {
  type: 'object',
  description: 'Configuration of a server with its workflows.',
  properties: {
    compositeTools: { type: 'array', items: { $ref: '#/$defs/workflow' } },
    compositeToolRefs: {
      type: 'array',
      items: closed({ name: { type: 'string', minLength: 1 } }, ['name']),
    },
  },
};

/**
 * JSON Schema (2020-12) of a file with a workflow, in each of its forms. It finds what an editor can find; the rules that
 * need the whole graph are those of {@link validateDefinition}.
 */
export const definitionSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:thv:workflow-definition:1',
  title: 'Workflow',
  type: 'object',
  oneOf: [
    { properties: { kind: { const: DEFINITION } }, required: ['kind'], $ref: '#/$defs/kubernetes' },
    { properties: { kind: { not: { const: DEFINITION } } }, required: ['kind'], description: 'Another object.' },
    { not: { required: ['kind'] }, anyOf: LIST_KEYS, $ref: '#/$defs/list' },
    { not: { anyOf: [{ required: ['kind'] }, ...LIST_KEYS] }, $ref: '#/$defs/workflow' },
  ],
  $defs: { kubernetes, list, ...definitions },
};

/** First line of a generated YAML file: tells editors which schema it follows. */
export function schemaLine(location: string): string {
  return `# yaml-language-server: $schema=${location}`;
}
