import type { LookupAddresses } from '../types.js';
/** What hosts are allowed. */
export interface HostOptions {
  readonly allowLoopback?: boolean;
  readonly allowPrivateHosts?: boolean;
  readonly lookup?: LookupAddresses;
  readonly signal?: AbortSignal;
}
export declare function isPrivateAddress(address: string): boolean;
export declare function resolvePublicHost(
  host: string,
  options?: HostOptions,
): Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;
