import { LIMITS } from '../limits.js';

/** @see https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const reserved = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])$/i;
// Control characters break contentDigest and terminals; bidirectional controls show another name than the one written.
const forbidden = /[\p{Cc}\u{2028}\u{2029}\u{202a}-\u{202e}\u{2066}-\u{2069}\p{Cs}]/u;

/** True for names that git takes for its own directory on some file system. */
function isGitDirectory(name: string): boolean {
  const plain = name.replaceAll(/[\p{Cf}]/gu, '').toLowerCase();
  return plain === '.git' || /^git~[0-9]+$/.test(plain);
}

function componentFault(name: string): string | undefined {
  if (name === '') return 'has an empty component';
  if (name === '.' || name === '..') return `has a component \`${name}\``;
  if (Buffer.byteLength(name) > LIMITS.nameBytes) return `has a component of more than ${LIMITS.nameBytes} bytes`;
  if (/^[ ~]|[ .]$/.test(name)) return 'has a component that begins with a space or `~`, or ends with a space or a dot';
  if (name.includes(':')) return 'has a colon, which names a drive or a stream on Windows';
  if (reserved.test((name.split('.', 1)[0] ?? '').trimEnd())) return 'is a device name on Windows';
  return isGitDirectory(name) ? "lies in git's own directory" : undefined;
}

/**
 * Why a path must not be written below a skill's directory, or undefined. The path is relative, `/`-separated and
 * without a leading `./`.
 */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (forbidden.test(path)) return 'has a control character or is not valid Unicode';
  if (path.includes('\\')) return 'has a backslash';
  if (path.startsWith('/')) return 'is absolute';
  if (Buffer.byteLength(path) > LIMITS.pathBytes) return `is longer than ${LIMITS.pathBytes} bytes`;
  const components = path.split('/');
  if (components.length > LIMITS.depth) return `is deeper than ${LIMITS.depth} directories`;
  for (const component of components) {
    const fault = componentFault(component);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Two paths with the same key are one file on a file system that ignores case or Unicode form. */
export function collisionKey(path: string): string {
  return path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}

/** True for a path of which some component begins with a dot. */
export function isHidden(path: string): boolean {
  return path.startsWith('.') || path.includes('/.');
}
