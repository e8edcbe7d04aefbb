import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { LookupAddresses } from '../types.js';

/** What hosts may be talked to. */
export interface HostOptions {
  /** Let `localhost`, `127.0.0.0/8` and `::1` be named. @defaultValue false */
  readonly allowLoopback?: boolean;
  /** Let names resolve to private addresses. @defaultValue false */
  readonly allowPrivateHosts?: boolean;
  /** @defaultValue the operating system's resolver */
  readonly lookup?: LookupAddresses;
  readonly signal?: AbortSignal;
}

/** An address and its family. */
export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

function refuse(host: string, why: string, remedy: string): OciSkillsError {
  return new OciSkillsError('ERR_OCI_SKILLS_HOST', `Refused to connect to \`${printable(host)}\`: ${why}; ${remedy}`, {
    details: { host: printable(host, 300), reason: why },
  });
}

function embeddedV4(address: ipaddr.IPv6, from: number): string {
  return address
    .toByteArray()
    .slice(from, from + 4)
    .join('.');
}

/**
 * True for every address that is not publicly routed: loopback, private, link-local, documentation, multicast, and
 * IPv6 forms that carry such an IPv4 address. A text that is no address counts as private.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 0) return true;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv4') return parsed.range() !== 'unicast';
  const v6 = parsed as ipaddr.IPv6;
  if (v6.isIPv4MappedAddress()) return isPrivateAddress(v6.toIPv4Address().toString());
  const range = v6.range();
  if (range === 'rfc6052') return isPrivateAddress(embeddedV4(v6, 12));
  if (range === '6to4') return isPrivateAddress(embeddedV4(v6, 2));
  // Addresses are handed out from 2000::/3 alone.
  return range !== 'unicast' || ((v6.toByteArray()[0] ?? 0) & 0xe0) !== 0x20;
}

/** True for a host, with or without port, that is written as this machine itself. */
export function isLoopbackHost(host: string): boolean {
  const name = bareHost(host);
  if (name === 'localhost') return true;
  return isIP(name) !== 0 && ipaddr.process(name).range() === 'loopback';
}

/** A host without port, brackets and final dot, in lower case. */
export function bareHost(host: string): string {
  const name = host.toLowerCase().replace(/^\[([^\]]*)\](?::\d+)?$/, '$1');
  return (isIP(name) === 6 ? name : name.replace(/:\d+$/, '')).replace(/\.$/, '');
}

// Programs read `2130706433`, `0x7f.1` and `0177.0.0.1` as addresses; what looks like one must be written plainly.
const odd = /^(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*$/;

const inside = 'name a public host, or allow private hosts explicitly';

function checkLiteral(host: string, name: string, options: HostOptions): void {
  if (isLoopbackHost(name)) {
    if (options.allowLoopback === true) return;
    throw refuse(
      host,
      'it is this machine itself',
      'set TOOLHIVE_DEV=true, or allow loopback explicitly, to use a local server',
    );
  }
  if (options.allowPrivateHosts !== true && isPrivateAddress(name))
    throw refuse(host, 'it is a private address', inside);
}

const defaultLookup: LookupAddresses = async (host) => {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

async function lookupHost(host: string, name: string, options: HostOptions): Promise<readonly HostAddress[]> {
  try {
    const { lookup = defaultLookup, signal } = options;
    return await lookup(name, signal === undefined ? {} : { signal });
  } catch (error) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_REGISTRY',
      `The host \`${printable(host)}\` was not found; check its name and the network`,
      { cause: error, details: { host } },
    );
  }
}

/**
 * Resolve a host, with or without port, and refuse it when any of its addresses is private. Connect to one of the
 * addresses that come back, so that a second look-up cannot give another answer.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_HOST`, `ERR_OCI_SKILLS_REGISTRY` when the name does not resolve
 */
export async function resolvePublicHost(host: string, options: HostOptions = {}): Promise<readonly HostAddress[]> {
  options.signal?.throwIfAborted();
  const name = bareHost(host);
  if (name === '') throw refuse(host, 'it is empty', 'name a host');
  const family = isIP(name);
  if (family === 0 && odd.test(name))
    throw refuse(host, 'it is an address in an unusual spelling', 'write it as four decimal numbers');
  if (family !== 0) {
    checkLiteral(host, name, options);
    return [{ address: name, family: family === 6 ? 6 : 4 }];
  }
  if (name === 'localhost' || name.endsWith('.localhost')) checkLiteral(host, 'localhost', options);
  const addresses = await lookupHost(host, name, options);
  if (addresses.length === 0) throw refuse(host, 'it has no address', 'check its name');
  const isLocal = options.allowLoopback === true && isLoopbackHost(name);
  const wrong = addresses.find(({ address }) => isPrivateAddress(address) && !(isLocal && isLoopbackHost(address)));
  if (wrong !== undefined && options.allowPrivateHosts !== true) {
    throw refuse(host, `it resolves to the private address ${printable(wrong.address)}`, inside);
  }
  return addresses;
}
