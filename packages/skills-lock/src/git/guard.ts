import { resolvePublicHost } from '@thv/oci-skills';
import type { HostOptions } from '@thv/oci-skills';
import type { HostGuard } from './resolve.js';

/** A guard that refuses names and addresses of private networks, and hands on the addresses that it checked. */
export function createHostGuard(options: Omit<HostOptions, 'signal'> = {}): HostGuard {
  return {
    async resolve(host, call) {
      const addresses = await resolvePublicHost(host, { ...options, ...call });
      return addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    },
  };
}
