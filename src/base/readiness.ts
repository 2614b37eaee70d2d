import { errorMessage } from "./coded-error.ts";
import type { Logger } from "./logger.ts";

/** Returns why it is not ready; undefined when it is. */
export type ReadinessCheck = () => Promise<string | undefined>;

/** Taken by one part, given back once. */
export interface ReadinessReason {
  readonly name: string;
  /** Idempotent. */
  release(): void;
}

/**
 * Readiness is the absence of reasons not to be ready. A part either takes a named reason while it is not, or adds a check that
 * is asked on every request.
 */
export interface Readiness {
  /** `why` may be asked again at each request, for text that changes. */
  take(name: string, why?: string | (() => string)): ReadinessReason;
  /** Checks are asked at the same time; of those that object the one added first is the answer. Returns the way to remove it. */
  addCheck(name: string, check: ReadinessCheck): () => void;
  /** Text shown beside the state, which it does not change, while the function returns one. */
  addNote(note: () => string | undefined): void;
  notes(): string[];
  /** Every reason taken, or else the first check that objects, as `name: why` lines. Empty when ready. */
  reasons(): Promise<string[]>;
}

export function createReadiness(log: Logger): Readiness {
  const taken = new Map<symbol, { readonly name: string; readonly why: () => string }>();
  const checks = new Map<symbol, { readonly name: string; readonly check: ReadinessCheck }>();
  const noting: (() => string | undefined)[] = [];
  let wasReady = false;
  const find = async (): Promise<{ readonly lines: string[]; readonly summary: string }> => {
    if (taken.size > 0) {
      const lines = [...taken.values()].map(({ name, why }) => join(name, why()));
      return { lines, summary: lines.join("; ") };
    }
    const asked = [...checks.values()].map(async ({ name, check }) => ({
      name,
      why: await check().catch(errorMessage),
    }));
    for (const { name, why } of await Promise.all(asked)) {
      // The log line is the reference's, which has no names.
      if (why !== undefined) return { lines: [join(name, why)], summary: why };
    }
    return { lines: [], summary: "" };
  };
  return {
    take: (name, why = "") => {
      const key = Symbol(name);
      taken.set(key, { name, why: typeof why === "string" ? () => why : why });
      return { name, release: () => void taken.delete(key) };
    },
    addCheck: (name, check) => {
      const key = Symbol(name);
      checks.set(key, { name, check });
      return () => void checks.delete(key);
    },
    addNote: (note) => void noting.push(note),
    notes: () => noting.map((note) => note()).filter((note) => note !== undefined),
    reasons: async () => {
      const { lines, summary } = await find();
      if (lines.length > 0) log.warn(`Envoy proxy is NOT ready: ${summary}`);
      else if (!wasReady) log.info("Envoy proxy is ready");
      wasReady = lines.length === 0;
      return lines;
    },
  };
}

function join(name: string, why: string): string {
  return why === "" ? name : `${name}: ${why}`;
}
