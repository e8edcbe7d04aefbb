/** Collects bits, lowest first, into bytes. */
export class BitWriter {
  /** Where bytes go; large enough for what is written until {@link take}. */
  bytes: Uint8Array;
  position = 0;
  /** Up to seven bits that fill no byte yet. */
  held = 0;
  count = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** At most 24 bits. */
  write(value: number, length: number): void {
    this.held |= value << this.count;
    this.count += length;
    while (this.count >= 8) {
      this.bytes[this.position] = this.held & 0xff;
      this.position += 1;
      this.held >>>= 8;
      this.count -= 8;
    }
  }

  /** Fill the last byte with zeros. */
  align(): void {
    if (this.count > 0) this.write(0, 8 - this.count);
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.position);
    this.position += bytes.length;
  }

  /** The whole bytes since the last call, valid until the next write. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.position);
    this.position = 0;
    return taken;
  }
}
