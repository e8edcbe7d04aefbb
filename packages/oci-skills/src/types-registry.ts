import type { Blob, CallOptions, Descriptor, PackedSkill, Reference, SkillArtifact, SkillStore } from './types.js';

/** How to sign in at a registry. */
export type RegistryCredentials =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  /** A refresh ("identity") token that buys access tokens. */
  | { readonly kind: 'identity-token'; readonly token: string }
  /** A bearer token that the registry takes as it is. */
  | { readonly kind: 'registry-token'; readonly token: string };

/** Finds the credentials of a registry. */
export type CredentialProvider = (
  registry: string,
  options: CallOptions,
) => Promise<RegistryCredentials> | RegistryCredentials;

/** Resolves a host name to every address it has. */
export type LookupAddresses = (
  host: string,
  options: CallOptions,
) => Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;

/** Time, for retries and tests. Milliseconds. */
export interface Clock {
  now(): number;
  /** Resolves after `milliseconds`, rejects with `signal.reason`. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Options of `createRegistry`. */
export interface RegistryOptions {
  /**
   * Environment variables: `DOCKER_CONFIG`, `REGISTRY_<HOST>_USERNAME`, `REGISTRY_<HOST>_PASSWORD`, `TOOLHIVE_DEV`,
   * and what credential helpers inherit.
   *
   * @defaultValue `{}`
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The home directory, where `.docker/config.json` is. Without it and `DOCKER_CONFIG` no Docker configuration is read. */
  readonly home?: string;
  /** The one registry that `REGISTRY_USERNAME` and `REGISTRY_PASSWORD` are sent to; without it they are not used. */
  readonly genericCredentialsFor?: string;
  /** Replaces the chain of environment, Docker configuration and helpers. */
  readonly credentials?: CredentialProvider;
  /**
   * Talk plain HTTP to loopback registries (`localhost`, `127.0.0.0/8`, `[::1]`), and let those be named at all.
   * Everything else is always TLS.
   *
   * @defaultValue true when `env.TOOLHIVE_DEV` is `true`
   */
  readonly allowLoopback?: boolean;
  /** Let names resolve to private addresses, for a registry inside the own network. @defaultValue false */
  readonly allowPrivateHosts?: boolean;
  /** @defaultValue the operating system's resolver */
  readonly lookup?: LookupAddresses;
  /** PEM certificates trusted besides the system's. */
  readonly ca?: string;
  /** Attempts after the first, on 429, 5xx and broken connections. @defaultValue 5 */
  readonly maxRetries?: number;
  /** One whole operation. @defaultValue 300000 */
  readonly timeoutMs?: number;
  /** @defaultValue the system's time */
  readonly clock?: Clock;
}

/** Options of a pull. */
export interface PullOptions extends CallOptions {
  /** Keep the artifact in this store, under the full text of the reference. */
  readonly store?: SkillStore;
}

/** What a push did. */
export interface PushResult {
  readonly digest: string;
  /** The reference with its digest: `registry/repository@sha256:…`. */
  readonly pinned: string;
  /** Blobs and manifests that were sent, and those that the registry had already. */
  readonly uploaded: number;
  readonly skipped: number;
}

/** A client of OCI registries. References may be texts or what `parseReference` returns. */
export interface Registry extends AsyncDisposable {
  /** The descriptor that a reference points to now. @throws OciSkillsError `ERR_OCI_SKILLS_NOT_FOUND` */
  resolve(reference: string | Reference, options?: CallOptions): Promise<Descriptor>;
  /** Fetch a skill and verify all of it. */
  pull(reference: string | Reference, options?: PullOptions): Promise<SkillArtifact>;
  /** Send a skill, children before parents; safe to repeat. */
  push(
    reference: string | Reference,
    artifact: PackedSkill | SkillArtifact,
    options?: CallOptions,
  ): Promise<PushResult>;
  /** One manifest or index, verified. @defaultValue `maxBytes` 1 MiB */
  getManifest(reference: string | Reference, options?: CallOptions & { readonly maxBytes?: number }): Promise<Blob>;
  /** One blob, verified; `size` may be left out when it is unknown. */
  getBlob(
    reference: string | Reference,
    descriptor: Pick<Descriptor, 'digest'> & Partial<Descriptor>,
    options?: CallOptions & { readonly maxBytes?: number },
  ): Promise<Uint8Array>;
  /** Resolves to false when the registry had the blob already. */
  putBlob(reference: string | Reference, blob: Blob, options?: CallOptions): Promise<boolean>;
  /**
   * Stored under `tag`, or under its digest when `tag` is left out. `isReferrer` tells whether the registry has taken
   * note of the manifest's `subject`; where it has not, the fallback tag must be kept by the client.
   */
  putManifest(
    reference: string | Reference,
    manifest: Blob,
    options?: CallOptions & { readonly tag?: string },
  ): Promise<{ readonly isReferrer: boolean }>;
  /** What refers to `digest`, by the referrers API or the fallback tag. @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers */
  referrers(reference: string | Reference, digest: string, options?: CallOptions): Promise<readonly Descriptor[]>;
  close(): Promise<void>;
}
