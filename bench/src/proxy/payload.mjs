/** The arguments of `echo` for a payload, as JSON text, and a text that every answer to it must contain. */
export function payload(kind, bytes) {
  if (kind === 'string') {
    const text = 'lorem ipsum '.repeat(Math.ceil(bytes / 12)).slice(0, bytes);
    return { json: JSON.stringify({ text }), mark: text.slice(-40) };
  }
  const rows = [];
  for (let size = 0; ;) {
    const next = JSON.stringify(row(rows.length));
    size += next.length + 1;
    if (size > bytes) break;
    rows.push(next);
  }
  return { json: `{"text":"ok","data":{"rows":[${rows.join()}]}}`, mark: rows.at(-1).slice(1, 41) };
}

/** About 110 bytes of JSON with every kind of value, three levels deep. */
function row(index) {
  return {
    id: index,
    name: `row ${index}`,
    tags: ['a', 'b'],
    on: index % 2 === 0,
    at: { x: index / 8, y: -index, z: null },
    note: 'say "hi"',
  };
}
