import type { Reference } from './types.js';
import type { Registry } from './types-registry.js';

/** Who signed, as a lock file records it. Either `publicKey`, or `signerIdentity` with `certIssuer`. */
export interface Provenance {
  readonly signerIdentity?: string;
  readonly certIssuer?: string;
  readonly repositoryUri?: string;
  readonly repositoryRef?: string;
  readonly runnerEnvironment?: string;
  readonly sigstoreUrl?: string;
  /** Standard base64 of the DER SubjectPublicKeyInfo, one line. */
  readonly publicKey?: string;
  /** True where the time of signing was not proved by a log. */
  readonly provisional?: boolean;
}

/** What a catalogue entry declares about a skill's signer. Empty fields do not constrain. */
export interface CatalogueProvenance {
  readonly sigstore_url?: string;
  readonly repository_uri?: string;
  readonly repository_ref?: string;
  readonly signer_identity?: string;
  readonly runner_environment?: string;
  readonly cert_issuer?: string;
  readonly attestation?: unknown;
}

/** Where Sigstore's trust comes from. */
export interface TrustOptions {
  /** The text of a `trusted_root.json`. @defaultValue the embedded snapshot of the public instance */
  readonly trustedRoot?: string;
  /**
   * Certificate-log proofs that a certificate must carry. Only a private instance without such a log sets 0.
   *
   * @defaultValue 1
   */
  readonly certificateLogThreshold?: number;
}

/** Which signature is acceptable. The caller's record decides between key and keyless, never the artifact. */
export type SignaturePolicy =
  | {
      readonly kind: 'key';
      /** PEM, or standard base64 of the DER SubjectPublicKeyInfo. */
      readonly publicKey: string;
    }
  | {
      readonly kind: 'keyless';
      /** The recorded signer; left out, whoever signed is reported. */
      readonly expected?: Provenance;
      /** What the catalogue declares; consulted only without `expected`. */
      readonly catalogue?: CatalogueProvenance;
    };

/** Options of `verifySignature`. */
export interface VerifySignatureOptions extends TrustOptions {
  readonly registry: Registry;
  readonly policy: SignaturePolicy;
  /**
   * Key-pair signatures must cover exactly the payload that the reference and digest produce; false also accepts
   * a payload with additional claims.
   *
   * @defaultValue true
   */
  readonly strictPayload?: boolean;
  readonly signal?: AbortSignal;
}

/** A signature that satisfied its policy. `bundle` and `payload` are what to store for a later check without network. */
export interface VerifiedSignature {
  readonly kind: 'key' | 'keyless';
  readonly provenance: Provenance;
  /** The Sigstore bundle as JSON text. */
  readonly bundle: string;
  /** The signed bytes; of a DSSE bundle the envelope's payload. */
  readonly payload: Uint8Array;
  readonly layout: 'signature-tag' | 'referrer';
}

/** Options of `verifyStoredSignature`. */
export interface VerifyStoredSignatureOptions extends TrustOptions {
  readonly bundle: string;
  /** Rebuilt from reference and digest when it was not stored. */
  readonly payload?: Uint8Array;
  /** What the artifact was pulled as. */
  readonly reference: string | Reference;
  readonly digest: string;
  readonly policy: SignaturePolicy;
  /** @defaultValue true */
  readonly strictPayload?: boolean;
  readonly signal?: AbortSignal;
}

/** How to sign. */
export type SigningMethod =
  | {
      readonly kind: 'key';
      /** PEM text of the private key, encrypted or not. */
      readonly privateKey: string;
      /** @defaultValue `''` */
      readonly password?: string;
    }
  | {
      readonly kind: 'keyless';
      /** An OpenID Connect token with the audience `sigstore`. */
      readonly identityToken: string;
      /** @defaultValue `https://fulcio.sigstore.dev` */
      readonly fulcioUrl?: string;
      /** @defaultValue `https://rekor.sigstore.dev` */
      readonly rekorUrl?: string;
    };

/** Options of `signArtifact`. */
export interface SignArtifactOptions extends TrustOptions {
  readonly registry: Registry;
  readonly method: SigningMethod;
  /**
   * Where the signature goes: the `.sig` tag that every cosign reads, or a referrer of the artifact as cosign 3
   * writes it.
   *
   * @defaultValue 'signature-tag'
   */
  readonly layout?: 'signature-tag' | 'referrer';
  readonly signal?: AbortSignal;
}

/** What `signArtifact` attached. */
export interface SignResult {
  /** The Sigstore bundle as JSON text. */
  readonly bundle: string;
  readonly payload: Uint8Array;
  readonly payloadDigest: string;
  readonly provenance: Provenance;
  /** True when this signer had signed this artifact before and nothing was added. */
  readonly alreadySigned: boolean;
}

/** Options of `verifyCommitSignature`. */
export interface VerifyCommitOptions extends TrustOptions {
  /** The recorded signer; left out, whoever signed is reported. */
  readonly expected?: Provenance;
  readonly signal?: AbortSignal;
}
