const TOKEN = /"(?:[^"\\]|\\.)*"|[^"]/sy;
const ID_VALUE = /\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*[,}]/sy;
const ID_AT_END = /[,{]\s*"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*\}\s*$/;

/**
 * The id of a response that was discarded, as JSON text, where its beginning or its end shows one. Ids deeper inside
 * are payload, and the id of a request is the server's own: taking either for an answer would fail somebody else's
 * request.
 */
export function idOfDiscarded(prefix: Buffer, suffix: Buffer): string | undefined {
  const { id, isRequest } = topLevel(prefix.toString());
  if (isRequest) return undefined;
  // Many servers write the result first and the id last.
  return id ?? ID_AT_END.exec(suffix.toString())?.[1];
}

function topLevel(text: string): { readonly id?: string; readonly isRequest: boolean } {
  let depth = 0;
  let before = '';
  let id: string | undefined;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [token] = match;
    if (/\s/.test(token) && token.length === 1) continue;
    if (depth === 1 && (before === '{' || before === ',')) {
      if (token === '"method"') return { isRequest: true };
      if (token === '"id"') {
        ID_VALUE.lastIndex = TOKEN.lastIndex;
        id = ID_VALUE.exec(text)?.[1];
      }
    }
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    before = token;
  }
  return id === undefined ? { isRequest: false } : { id, isRequest: false };
}
