import { BlockList, isIP } from 'node:net';

const inner = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  inner.addSubnet(address, prefix, 'ipv4');
}
for (const [address, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  inner.addSubnet(address, prefix, 'ipv6');
}

/** True for a host of a URL that lies on this machine or in a private network, by its address or its reserved name. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const family = isIP(host);
  if (family === 4) return inner.check(host, 'ipv4');
  if (family === 6) return inner.check(host, 'ipv6');
  return host === 'localhost' || /\.(?:localhost|local|internal)\.?$/.test(host);
}
