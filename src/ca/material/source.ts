import type { Logger } from "../../base/logger.ts";
import type { SigningMaterial } from "../core/signing-material.ts";

/** Where the CA's material comes from. */
export interface MaterialSource {
  readonly kind: "plugged-in" | "self-signed";
  readonly initial: SigningMaterial;
  /** Brings every usable change from then on. The returned function ends it. */
  follow(use: (material: SigningMaterial) => void): () => Promise<void>;
}

export interface SourceOptions {
  readonly log: Logger;
  readonly now: () => Date;
}
