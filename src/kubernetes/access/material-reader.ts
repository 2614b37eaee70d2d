import { readFile } from "node:fs/promises";
import { errorMessage } from "../../base/coded-error.ts";
import { Secret } from "../../base/secret.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import type { Material } from "./cluster-access.ts";

export async function readMaterial(material: Material): Promise<Secret> {
  if ("text" in material) return material.text;
  try {
    return new Secret(await readFile(material.file, "utf8"));
  } catch (cause) {
    throw new KubernetesError("no-credentials", `${material.file}: ${errorMessage(cause)}`, { cause });
  }
}

/**
 * Material whose file is read again when the last look is `maxAgeMs` old. A file that cannot be read while it is being replaced leaves the
 * content of the last look.
 */
export class MaterialReader {
  readonly #material: Material;
  readonly #maxAgeMs: number;
  #read: { readonly content: Secret; readonly at: number } | undefined;

  constructor(material: Material, maxAgeMs: number) {
    this.#material = material;
    this.#maxAgeMs = maxAgeMs;
  }

  async get(): Promise<Secret> {
    if ("text" in this.#material) return this.#material.text;
    const now = performance.now();
    if (this.#read !== undefined && now - this.#read.at < this.#maxAgeMs) return this.#read.content;
    const content = await readMaterial(this.#material).catch((failure: unknown) => {
      if (this.#read === undefined) throw failure;
      return this.#read.content;
    });
    this.#read = { content, at: now };
    return content;
  }

  /** The next `get` looks at the file. */
  expire(): void {
    if (this.#read !== undefined) this.#read = { ...this.#read, at: Number.NEGATIVE_INFINITY };
  }
}
