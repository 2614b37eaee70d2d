import { errorMessage } from "../base/coded-error.ts";
import { GrpcError } from "../grpc/index.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SourceSecret } from "./secret-source.ts";

/** Names fetched at the same time; a request may list thousands. */
const PARALLEL = 16;
const MAX_NAME = 512;
const MAX_TEXT = 4096;

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
  try {
    return await inBatches(names, (name) => generateOne(context, name, either));
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
