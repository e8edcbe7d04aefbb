import { randomBytes, scrypt } from 'node:crypto';
import nacl from 'tweetnacl';
import { isObject } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';

/** Cost that new keys are written with. @see https://github.com/secure-systems-lab/go-securesystemslib/blob/main/encrypted/encrypted.go */
const COST = { N: 65_536, r: 8, p: 1 } as const;
const MOST_N = 2 ** 17;
const KEY_BYTES = 32;
const NONCE_BYTES = 24;

export function keyFault(why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError('ERR_OCI_SKILLS_KEY', `The signing key cannot be used: ${why}`, {
    cause,
    details: { reason: why },
  });
}

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

function derive(password: string, salt: Uint8Array, cost: Cost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Node's default for `maxmem` is below what these costs need.
    const options = { ...cost, maxmem: 256 * cost.N * cost.r };
    scrypt(password, salt, KEY_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function readBytes(value: unknown, length: number | undefined, what: string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : Buffer.alloc(0);
  const isValid = bytes.length > 0 && (length === undefined || bytes.length === length);
  if (!isValid) throw keyFault(`its ${what} is missing or has a wrong length; use the file as the key's tool wrote it`);
  return bytes;
}

function readCost(params: unknown): Cost {
  const { N, r, p } = isObject(params) ? params : {};
  const isPower = typeof N === 'number' && Number.isSafeInteger(N) && N >= 2 && Number.isInteger(Math.log2(N));
  const isBounded =
    isPower && N <= MOST_N && typeof r === 'number' && r >= 1 && r <= 8 && p === 1 && Number.isInteger(r);
  if (!isBounded)
    throw keyFault(
      `its password derivation costs more than N=${MOST_N}, r=8, p=1, or is not valid; make a new key pair`,
    );
  return { N, r, p };
}

/** Decrypt the JSON inside an encrypted cosign key to a PKCS#8 key. @throws OciSkillsError `ERR_OCI_SKILLS_KEY` */
export async function decryptKey(json: unknown, password: string): Promise<Buffer> {
  const { kdf, cipher, ciphertext } = isObject(json) ? json : {};
  if (!isObject(kdf) || kdf['name'] !== 'scrypt')
    throw keyFault('its password derivation is not scrypt; make a new key pair');
  if (!isObject(cipher) || cipher['name'] !== 'nacl/secretbox')
    throw keyFault('its cipher is not nacl/secretbox; make a new key pair');
  const salt = readBytes(kdf['salt'], undefined, 'salt');
  const nonce = readBytes(cipher['nonce'], NONCE_BYTES, 'nonce');
  const sealed = readBytes(ciphertext, undefined, 'ciphertext');
  const key = await derive(password, salt, readCost(kdf['params']));
  const opened = nacl.secretbox.open(sealed, nonce, key);
  if (opened === null) throw keyFault('the password does not open it; check COSIGN_PASSWORD');
  return Buffer.from(opened);
}

/** Encrypt a PKCS#8 key as cosign does. */
export async function encryptKey(pkcs8: Uint8Array, password: string): Promise<Buffer> {
  const salt = randomBytes(32);
  const nonce = randomBytes(NONCE_BYTES);
  const key = await derive(password, salt, COST);
  const sealed = nacl.secretbox(Uint8Array.from(pkcs8), nonce, key);
  const json = {
    kdf: { name: 'scrypt', params: COST, salt: salt.toString('base64') },
    cipher: { name: 'nacl/secretbox', nonce: nonce.toString('base64') },
    ciphertext: Buffer.from(sealed).toString('base64'),
  };
  return Buffer.from(JSON.stringify(json));
}
