const name = '^[a-zA-Z0-9][a-zA-Z0-9_-]*$';
const timeout = {
  type: 'string',
  pattern: '^([0-9]+(\\.[0-9]+)?(ns|us|\u00B5s|ms|s|m|h))+$',
  default: '30s',
  description: 'How long the server may take to answer its first request.',
} as const;
const texts = (description: string) =>
  ({ type: 'object', additionalProperties: { type: 'string' }, description }) as const;

const stdio = {
  type: 'object',
  description: 'A server that is started as a child process.',
  properties: {
    command: { type: 'string', minLength: 1, description: 'Program to start.' },
    args: { type: 'array', items: { type: 'string' }, description: 'Its arguments.' },
    env: texts('Environment variables of the program; ${NAME} is taken from the environment.'),
    cwd: { type: 'string', description: 'Folder to start it in, relative to this file.' },
    timeout,
    type: { type: 'string', description: 'Written by some clients; not read.' },
  },
  required: ['command'],
  additionalProperties: false,
} as const;

const remote = {
  type: 'object',
  description: 'A server that is connected to.',
  properties: {
    url: { type: 'string', format: 'uri', pattern: '^https?://', description: 'Its address.' },
    headers: texts('Headers of each request; ${NAME} is taken from the environment.'),
    transport: { enum: ['streamable-http', 'sse'], description: 'How it is spoken to.' },
    timeout,
    type: { type: 'string', description: 'Written by some clients; not read.' },
  },
  required: ['url'],
  additionalProperties: false,
} as const;

/** JSON Schema (2020-12) of a servers file. */
export const serversSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:thv:servers:1',
  title: 'Servers',
  description: 'MCP servers by name.',
  type: 'object',
  properties: {
    servers: { $ref: '#/$defs/servers' },
    mcpServers: { $ref: '#/$defs/servers' },
  },
  oneOf: [{ required: ['servers'] }, { required: ['mcpServers'] }],
  additionalProperties: false,
  $defs: {
    servers: {
      type: 'object',
      propertyNames: { pattern: name },
      additionalProperties: { oneOf: [{ $ref: '#/$defs/stdio' }, { $ref: '#/$defs/remote' }] },
    },
    stdio,
    remote,
  },
} as const;
