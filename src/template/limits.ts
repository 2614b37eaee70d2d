import { TemplateLimitError } from "./template-error.ts";

/** Bounds of one execution; a template of any size ends within them. */
export interface TemplateLimits {
  /** Nodes, calls and loop turns; long results of functions count for more than one. */
  readonly maxSteps: number;
  /** Templates, blocks and parentheses inside each other. */
  readonly maxDepth: number;
  readonly maxOutputBytes: number;
}

/** A bootstrap template of Istio's size takes some thousand steps and prints 20 kB. */
export const DEFAULT_LIMITS: TemplateLimits = { maxSteps: 2_000_000, maxDepth: 300, maxOutputBytes: 16 * 1024 * 1024 };

/** Characters of a computed text that cost as much as one step. */
const CHARS_PER_STEP = 64;

/** Counts one execution's use of its limits; functions that build large values ask it first. */
export class Meter {
  readonly #limits: TemplateLimits;
  #steps = 0;
  #depth = 0;
  #output = 0;

  constructor(limits: TemplateLimits) {
    this.#limits = limits;
  }

  spend(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > this.#limits.maxSteps) {
      throw new TemplateLimitError("too-many-steps", `exceeded ${this.#limits.maxSteps} steps`);
    }
  }

  /** Called before a text of that length is made. */
  spendText(length: number): void {
    if (length > this.#limits.maxOutputBytes) {
      throw new TemplateLimitError("too-much-output", `a value is longer than ${this.#limits.maxOutputBytes} bytes`);
    }
    this.spend(Math.ceil(length / CHARS_PER_STEP));
  }

  write(bytes: number): void {
    this.#output += bytes;
    if (this.#output > this.#limits.maxOutputBytes) {
      throw new TemplateLimitError("too-much-output", `output is longer than ${this.#limits.maxOutputBytes} bytes`);
    }
  }

  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#limits.maxDepth) {
      throw new TemplateLimitError("too-deep", `exceeded maximum template depth (${this.#limits.maxDepth})`);
    }
  }

  leave(): void {
    this.#depth -= 1;
  }
}
