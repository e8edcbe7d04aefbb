import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseStateKeys } from '../src/index.js';

const key = randomBytes(32);
const refusal = (text: string) => {
  try {
    parseStateKeys(text, '/k');
  } catch (error) {
    return error as { code: string; message: string; details: { hint: string } };
  }
  throw new Error('nothing was thrown');
};

describe('parseStateKeys', () => {
  it.each([
    ['hexadecimal', key.toString('hex')],
    ['base64', key.toString('base64')],
    ['base64url', key.toString('base64url')],
    ['comments and empty lines', `# mine\n\n${key.toString('hex')}\r\n`],
  ])('reads a key in %s, and names it by its content', (_, text) => {
    const [only, ...rest] = parseStateKeys(text, '/k');
    expect(rest).toEqual([]);
    expect(Buffer.from(only?.key ?? [])).toEqual(key);
    expect(only?.id).toMatch(/^[0-9a-f]{8}$/);
  });

  it('keeps the ids and the order that are written', () => {
    const text = `new ${randomBytes(32).toString('hex')}\nold ${key.toString('base64')}\n`;
    expect(parseStateKeys(text, '/k').map(({ id }) => id)).toEqual(['new', 'old']);
  });

  it.each([
    ['', '/k: there is no key in it'],
    ['# nothing\n', '/k: there is no key in it'],
    [`\n${key.toString('hex').slice(2)}`, '/k:2: expected a key of 32 bytes'],
    [`a ${key.toString('hex')}\na ${randomBytes(32).toString('hex')}`, 'the key "a" stands there twice'],
  ])('refuses %j, and does not repeat it', (text, message) => {
    const error = refusal(text);
    expect(error).toMatchObject({ code: 'ERR_WORKLOADS_FILE', details: { hint: 'openssl rand -hex 32 > /k' } });
    expect(error.message).toContain(message);
    expect(error.message).not.toContain(key.toString('hex').slice(2));
  });
});
