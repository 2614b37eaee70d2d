import type { Secret } from "../base/secret.ts";

/** A secret as its owner hands it out. `version` changes exactly when the content does. */
export type SourceSecret =
  | {
      readonly kind: "key-pair";
      readonly name: string;
      readonly certificateChain: Buffer;
      readonly privateKey: Secret<Buffer>;
      readonly version: string;
    }
  | {
      readonly kind: "trust-bundle";
      readonly name: string;
      readonly roots: Buffer;
      readonly crlPath: string | undefined;
      readonly version: string;
    };

/** Where the server gets its secrets from; the secret manager fits. */
export interface SecretSource {
  /**
   * Undefined: there is no such secret yet, and `onChange` calls back when there is one. A rejection ends the stream that asked; its
   * message goes to the client.
   */
  get(name: string, signal?: AbortSignal): Promise<SourceSecret | undefined>;
  /** Calls back when the secret may have changed; returns the function that ends it. */
  onChange(name: string, listener: () => void): () => void;
}
