import type { SecretSource } from "./secret-source.ts";

/** The change listeners of one stream, kept equal to the names it watches. */
export class WatchSet {
  readonly #source: SecretSource;
  readonly #onChange: (name: string) => void;
  readonly #ends = new Map<string, () => void>();
  readonly #sent = new Map<string, string>();

  constructor(source: SecretSource, onChange: (name: string) => void) {
    this.#source = source;
    this.#onChange = onChange;
  }

  watch(names: ReadonlySet<string>): void {
    for (const [name, end] of this.#ends) {
      if (names.has(name)) continue;
      end();
      this.#ends.delete(name);
      this.#sent.delete(name);
    }
    for (const name of names) {
      if (this.#ends.has(name)) continue;
      this.#ends.set(
        name,
        this.#source.onChange(name, () => this.#onChange(name)),
      );
    }
  }

  has(name: string): boolean {
    return this.#ends.has(name);
  }

  /** The version the client got last; a change that brings the same one is none. */
  isSent(name: string, version: string): boolean {
    return this.#sent.get(name) === version;
  }

  wasSent(name: string): boolean {
    return this.#sent.has(name);
  }

  /** The client was told that it is gone. */
  forget(name: string): void {
    this.#sent.delete(name);
  }

  markSent(name: string, version: string): void {
    if (this.#ends.has(name)) this.#sent.set(name, version);
  }

  close(): void {
    this.watch(new Set());
  }
}
