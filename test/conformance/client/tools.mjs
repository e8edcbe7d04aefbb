const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MIRRORED = new Set(['string', 'integer', 'boolean']);

/** Every `x-mcp-header` of a schema, wherever it stands. */
function* annotations(schema, path, isReachable) {
  if (schema === null || typeof schema !== 'object') return;
  if (Object.hasOwn(schema, 'x-mcp-header'))
    yield { name: schema['x-mcp-header'], type: schema.type, path, isReachable };
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties' && value !== null && typeof value === 'object') {
      for (const [key, property] of Object.entries(value)) yield* annotations(property, [...path, key], isReachable);
    } else if (keyword !== 'x-mcp-header') {
      yield* annotations(value, path, false);
    }
  }
}

/** The arguments of a tool that travel in headers; `undefined` where its annotations break the rules. */
export function mirroredArguments(tool) {
  const found = [...annotations(tool.inputSchema, [], true)];
  const names = new Set();
  for (const { name, type, isReachable } of found) {
    if (typeof name !== 'string' || !TOKEN.test(name) || !MIRRORED.has(type) || !isReachable) return undefined;
    if (names.has(name.toLowerCase())) return undefined;
    names.add(name.toLowerCase());
  }
  return found;
}
