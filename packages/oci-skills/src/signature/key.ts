/** PEM texts. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}
/** Options of {@link createKeyPair}. */
export interface KeyPairOptions {
  readonly password?: string;
}
/** Encrypted cosign key pair. */
export declare function createKeyPair(options?: KeyPairOptions): Promise<KeyPair>;
/** PEM or base64 DER SPKI to canonical one-line base64 DER SPKI. */
export declare function parsePublicKey(text: string): string;
