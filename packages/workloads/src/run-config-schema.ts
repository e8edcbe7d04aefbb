/**
 * JSON Schema of a run configuration, for editors and for checks in CI. `parseRunConfig` accepts what it accepts, and
 * besides that fields of the wider format that ask for nothing.
 *
 * @see https://json-schema.org/draft/2020-12
 */
export const runConfigSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Run configuration',
  description: 'How thv runs an MCP server; written by `thv export`, read by `thv run --from-config`.',
  type: 'object',
  anyOf: [{ required: ['command'] }, { required: ['remote_url'] }],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    schema_version: { type: 'string', const: 'v0.1.0' },
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      maxLength: 100,
      description: 'Name of the server',
    },
    image: { type: 'string', description: 'The package as it was given, npx://NAME or uvx://NAME' },
    command: { type: 'string', description: 'The program, found through PATH' },
    cmd_args: { type: 'array', items: { type: 'string' }, description: 'Its arguments' },
    working_dir: { type: 'string', description: 'The folder in which it runs' },
    transport: { enum: ['stdio', 'sse', 'streamable-http'], default: 'stdio', description: 'How the server speaks' },
    proxy_mode: { enum: ['streamable-http', 'sse'], description: 'How clients speak' },
    remote_url: { type: 'string', description: 'Address of a server somewhere else' },
    target_port: {
      type: 'integer',
      minimum: 0,
      maximum: 65_535,
      description: 'Where a server that speaks HTTP listens',
    },
    target_host: { type: 'string', description: 'Host at which it listens' },
    endpoint_prefix: { type: 'string', description: 'What stands in front of the path at clients' },
    trust_proxy_headers: { type: 'boolean', description: 'Believe X-Forwarded headers' },
    thv_ca_bundle: { type: 'string', description: 'File with certificates that are trusted besides the system’s' },
    host: { type: 'string', default: '127.0.0.1', description: 'Host that the proxy listens on' },
    port: { type: 'integer', minimum: 0, maximum: 65_535, default: 0, description: '0 takes a free one and keeps it' },
    group: {
      type: 'string',
      pattern: '^[a-z0-9_-]+(?: [a-z0-9_-]+)*$',
      maxLength: 100,
      default: 'default',
      description: 'Group of the server',
    },
    env_vars: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment of the server' },
    container_labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels, for `list`' },
    isolation: {
      enum: ['shared', 'session', 'principal', 'lease'],
      default: 'shared',
      description: 'One process for all, or one for each session, caller or chain of requests',
    },
    backend_era: {
      enum: ['auto', 'legacy', 'modern'],
      default: 'auto',
      description: 'Revisions that the server speaks: up to 2025-11-25, or 2026-07-28; auto asks it',
    },
    state_key_file: {
      type: 'string',
      minLength: 1,
      description:
        'File with the keys that seal request states for their callers; the same for every process of a service',
    },
    session_ttl: { type: 'string', examples: ['30m', '2h'], description: 'How long an idle client session lives' },
    stateless: { type: 'boolean', default: false, description: 'No sessions and no standalone streams' },
    strict_protocol_validation: { type: 'boolean', default: false, description: 'Refuse unknown protocol versions' },
    allowed_origins: {
      type: 'array',
      items: { type: 'string' },
      description: 'Origins of browsers that may call; by default those of this machine',
    },
  },
} as const;
