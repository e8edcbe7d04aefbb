import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { OciSkillsError } from '../errors.js';
import { decryptKey, encryptKey, keyFault } from './encrypted-key.js';
import { formatPem, parsePem } from './pem.js';
import type { PemBlock } from './pem.js';

const MOST_CHARACTERS = 64 * 1024;
const curves: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1']);
const encrypted: ReadonlySet<string> = new Set(['ENCRYPTED SIGSTORE PRIVATE KEY', 'ENCRYPTED COSIGN PRIVATE KEY']);
const plain: Readonly<Record<string, 'pkcs8' | 'sec1' | 'pkcs1'>> = {
  'PRIVATE KEY': 'pkcs8',
  'EC PRIVATE KEY': 'sec1',
  'RSA PRIVATE KEY': 'pkcs1',
};

/** A key pair, both as PEM texts. */
export interface KeyPair {
  /** `ENCRYPTED SIGSTORE PRIVATE KEY`, as cosign reads and writes it. */
  readonly privateKey: string;
  readonly publicKey: string;
}

/** Options of {@link createKeyPair}. */
export interface KeyPairOptions {
  /** @defaultValue `''`, which encrypts too */
  readonly password?: string;
}

function checkKind(key: KeyObject): KeyObject {
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const isKnown =
    (key.asymmetricKeyType === 'ec' && curves.has(namedCurve)) ||
    key.asymmetricKeyType === 'ed25519' ||
    (key.asymmetricKeyType === 'rsa' && modulusLength >= 2048);
  if (isKnown) return key;
  throw keyFault(
    `it is of the kind \`${key.asymmetricKeyType ?? 'unknown'}\`${namedCurve === '' ? '' : ` on \`${namedCurve}\``}; use ECDSA P-256 or P-384, Ed25519, or RSA of 2048 bits and more`,
  );
}

function readDer(bytes: Buffer, type: 'pkcs8' | 'sec1' | 'pkcs1', passphrase?: string): KeyObject {
  return createPrivateKey({ key: bytes, format: 'der', type, ...(passphrase === undefined ? {} : { passphrase }) });
}

async function readEncrypted({ bytes }: PemBlock, password: string): Promise<KeyObject> {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The same label is also used for PKCS#8's own encryption.
    return readDer(bytes, 'pkcs8', password);
  }
  return readDer(await decryptKey(json, password), 'pkcs8');
}

/** Read a private key, decrypting it when it is encrypted. @throws OciSkillsError `ERR_OCI_SKILLS_KEY` */
export async function parsePrivateKey(text: string, password = ''): Promise<KeyObject> {
  const block = text.length > MOST_CHARACTERS ? undefined : parsePem(text);
  if (block === undefined)
    throw keyFault('it is no PEM file with one key; name the private key file, such as `cosign.key`');
  const { label, bytes } = block;
  try {
    if (encrypted.has(label)) return checkKind(await readEncrypted(block, password));
    if (label === 'ENCRYPTED PRIVATE KEY') return checkKind(readDer(bytes, 'pkcs8', password));
    const type = plain[label];
    if (type !== undefined) return checkKind(readDer(bytes, type));
  } catch (error) {
    throw OciSkillsError.is(error)
      ? error
      : keyFault('it is damaged, or the password does not open it; check COSIGN_PASSWORD', error);
  }
  throw keyFault(`it is a \`${label}\`, not a private key; name the private key file, such as \`cosign.key\``);
}

/** Read a public key, as PEM or as base64 of the DER SubjectPublicKeyInfo. @throws OciSkillsError `ERR_OCI_SKILLS_KEY` */
export function readPublicKey(text: string): KeyObject {
  const trimmed = text.length > MOST_CHARACTERS ? '' : text.trim();
  const block = parsePem(trimmed);
  // A private key also has a public half, but must not be passed around as one.
  if (block !== undefined && block.label !== 'PUBLIC KEY')
    throw keyFault(`it is a \`${block.label}\`, not a public key; name the public key file, such as \`cosign.pub\``);
  const isBase64 =
    /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/.test(
      trimmed,
    );
  if (block === undefined && !isBase64)
    throw keyFault('it is neither PEM nor base64; name the public key file, such as `cosign.pub`');
  const key = block?.bytes ?? Buffer.from(trimmed, 'base64');
  try {
    return checkKind(createPublicKey({ key, format: 'der', type: 'spki' }));
  } catch (error) {
    throw OciSkillsError.is(error)
      ? error
      : keyFault("it holds no public key; use the file as the key's tool wrote it", error);
  }
}

/** The canonical text of a public key: standard base64 of its DER SubjectPublicKeyInfo, on one line. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).toString('base64');
}

/** The public half of a private key. */
export function publicHalf(key: KeyObject): KeyObject {
  return createPublicKey(key);
}

/**
 * Read a public key, as PEM or base64, and give it back in the one form that lock files record and that two keys are
 * compared by: standard base64 of the DER SubjectPublicKeyInfo, on one line.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_KEY`
 */
export function parsePublicKey(text: string): string {
  return publicKeyText(readPublicKey(text));
}

function algorithm(key: KeyObject): string | null {
  return key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
}

export function signBytes(bytes: Uint8Array, key: KeyObject): Buffer {
  return sign(algorithm(key), bytes, key);
}

export function verifyBytes(bytes: Uint8Array, key: KeyObject, signature: Uint8Array): boolean {
  try {
    return verify(algorithm(key), bytes, key, signature);
  } catch {
    return false;
  }
}

/**
 * Make an ECDSA P-256 key pair whose private half is encrypted in the format of cosign.
 *
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#key-pairs
 */
export async function createKeyPair(options: KeyPairOptions = {}): Promise<KeyPair> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const sealed = await encryptKey(pair.privateKey.export({ format: 'der', type: 'pkcs8' }), options.password ?? '');
  const publicKey = pair.publicKey.export({ format: 'der', type: 'spki' });
  return {
    privateKey: formatPem('ENCRYPTED SIGSTORE PRIVATE KEY', sealed),
    publicKey: formatPem('PUBLIC KEY', publicKey),
  };
}
