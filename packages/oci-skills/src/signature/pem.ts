/** A PEM block. */
export interface PemBlock {
  readonly label: string;
  readonly bytes: Buffer;
}

const pattern = /^-----BEGIN ([A-Z0-9 ]{1,64})-----\r?\n([A-Za-z0-9+/=\s]+)-----END \1-----\s*$/;

/** Parse a text that is one PEM block without headers. @see https://www.rfc-editor.org/rfc/rfc7468 */
export function parsePem(text: string): PemBlock | undefined {
  const match = pattern.exec(text.trim());
  if (match === null) return undefined;
  const [, label = '', body = ''] = match;
  return { label, bytes: Buffer.from(body.replaceAll(/\s/g, ''), 'base64') };
}

export function formatPem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
