import { errorMessage } from "../base/coded-error.ts";
import { GrpcError } from "../grpc/index.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SourceSecret } from "./secret-source.ts";

/** Names fetched at the same time; a request may list thousands. */
const PARALLEL = 16;
const MAX_NAME = 512;
const MAX_TEXT = 4096;
/** A proxy asks for one name on each stream; a few kilobytes of names must not become gigabytes of answer. */
const MAX_NAMES = 4096;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Throws INVALID_ARGUMENT for more names than one stream may watch: each may cost several file watches. */
export function checkNameCount(count: number): void {
  if (count <= MAX_NAMES) return;
  throw new GrpcError("INVALID_ARGUMENT", `${count} resource names on one stream, at most ${MAX_NAMES} are served`);
}

/** Throws INVALID_ARGUMENT when the secrets of one answer grow beyond what is sent at once. */
export function createAnswerBudget(maxBytes = MAX_ANSWER_BYTES): (secret: SourceSecret | undefined) => void {
  let left = maxBytes;
  return (secret) => {
    if (secret === undefined) return;
    left -= secret.kind === "key-pair" ? secret.certificateChain.length : secret.roots.length;
    if (left < 0) {
      throw new GrpcError("INVALID_ARGUMENT", `the answer would be larger than ${maxBytes} bytes: ask for fewer names`);
    }
  };
}

/** The secrets in the order of the names; undefined where there is none yet. One failure fails all, and the others stop waiting. */
export async function generate(
  context: SdsContext,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly (SourceSecret | undefined)[]> {
  const [only, ...more] = names;
  // The usual case: each secret of an Envoy has its stream, and a joined signal for every request would burden the collector.
  if (only !== undefined && more.length === 0) return [await generateOne(context, only, signal)];
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const spend = createAnswerBudget();
  try {
    return await inBatches(names, async (name) => {
      const secret = await generateOne(context, name, either);
      spend(secret);
      return secret;
    });
  } finally {
    failed.abort();
  }
}

/** The results in the order of the names, with a bounded number of them under way. */
export async function inBatches<Value>(
  names: readonly string[],
  work: (name: string) => Promise<Value>,
): Promise<readonly Value[]> {
  const results: Value[] = [];
  for (let start = 0; start < names.length; start += PARALLEL) {
    results.push(...(await Promise.all(names.slice(start, start + PARALLEL).map(work))));
  }
  return results;
}

export async function generateOne(
  context: SdsContext,
  name: string,
  signal: AbortSignal,
): Promise<SourceSecret | undefined> {
  try {
    return await context.source.get(name, signal);
  } catch (cause) {
    // The status travels in a header, which has room for a few kilobytes.
    const text = `failed to generate secret for ${name.slice(0, MAX_NAME)}: ${errorMessage(cause)}`;
    if (!signal.aborted) context.log.warn(text.slice(0, MAX_TEXT));
    throw new GrpcError("UNKNOWN", text.slice(0, MAX_TEXT), { cause });
  }
}
