import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { untilAborted, wait } from "../../base/wait.ts";
import type { HttpRequest } from "../../net/http-server/http-types.ts";
import { FamilyReader } from "../../protocol/prometheus/family-reader.ts";
import { type AnswerFormat, commonFormat } from "../core/formats.ts";
import type { ScrapeMetrics } from "../metrics.ts";
import type { BlockPool } from "./block-pool.ts";
import { BlockWriter } from "./block-writer.ts";
import { addToIndex, type Drop, type FamilyIndex, indexBody } from "./family-index.ts";
import { createMergedDocument, type MergedDocument } from "./merged-document.ts";
import { type OnOverflow, withMeshNames } from "./mesh-names.ts";
import { type OpenSource, openSource, type ScrapeSource, tooLarge } from "./open-sources.ts";
import { readRest } from "./read-body.ts";
import { scrapeLimits } from "./scrape-limits.ts";

export interface ScrapeOptions {
  /** In the order of the document. */
  readonly sources: readonly ScrapeSource[];
  /** The agent's own metrics as text. */
  readonly agentText: () => string;
  /** Where they stand: before the sources' when absent. */
  readonly agentFirst?: boolean;
  readonly filtersAccept?: boolean;
  readonly pool: BlockPool;
  readonly metrics: ScrapeMetrics;
  readonly onOverflow?: OnOverflow;
  readonly log: Logger;
}

/** Families that every process has: the agent's are shown only where no other source has them. */
const PROCESS_FAMILY = /^(?:process|nodejs)_/;

/** Writes one document with the metrics of all sources that answer; the status is 200 also when all of them fail. */
export async function scrape(options: ScrapeOptions, request: HttpRequest): Promise<void> {
  options.metrics.scrapes.inc();
  const { closed } = request;
  const limits = scrapeLimits(request.headers["x-prometheus-scrape-timeout-seconds"]);
  using limit = abortAfter(limits.totalMs, closed);
  using grace = abortAfter(limits.graceMs, limit.signal);
  // A scraper that does not read must not occupy one of the parallel scrapes for ever.
  const patience = setTimeout(() => request.abort(), limits.scraperMs);
  closed.addEventListener("abort", () => clearTimeout(patience), { once: true });
  const attempts = options.sources.map((source) =>
    startAttempt(options, source, {
      request,
      limits,
      signal: limit.signal,
      filtersAccept: options.filtersAccept ?? true,
      pool: options.pool,
      warn: (text) => options.log.warn(text),
      isGone: () => closed.aborted,
    }),
  );
  await Promise.race([Promise.all(attempts.map((attempt) => attempt.opened)), wait(limits.graceMs, grace.signal)]);
  if (closed.aborted) return;

  const answer = commonFormat(
    attempts.flatMap(({ state, source }) => (source.kind === "application" && state.open ? [state.open.answer] : [])),
  );
  const output = request.stream({ status: 200, contentType: answer.contentType });
  const out = new BlockWriter(output, options.pool);
  const plan = planDocument(attempts, answer, options);
  const document = createMergedDocument({ format: answer.format, out, known: plan.known });
  const writeAgent = () => document.writeKnown(plan.agentNames, () => undefined);
  const { agentFirst = true } = options;
  if (agentFirst) writeAgent();
  // Those that have not answered yet come last: they must not use up the time of the others.
  const isLate = new Map(attempts.map((attempt) => [attempt, attempt.state.open === undefined]));
  for (const attempt of attempts.toSorted((a, b) => Number(isLate.get(a)) - Number(isLate.get(b)))) {
    await out.drained();
    const names = plan.names.get(attempt);
    if (names !== undefined) document.writeKnown(names, attempt.drop);
    else await streamSource(attempt, { document, out, answer, onOverflow: options.onOverflow });
  }
  if (!agentFirst) writeAgent();
  for (const [name, family] of plan.processFamilies) if (!plan.known.has(name)) plan.known.set(name, family);
  document.writeKnown(plan.processFamilies.keys(), () => undefined);
  document.finish();
  for (const { state } of attempts) state.open?.head.release();
  output.end();
  await untilAborted(closed);
}

interface Attempt {
  readonly source: ScrapeSource;
  /** Settles, never rejects, when the head is there or the source has failed. */
  readonly opened: Promise<void>;
  readonly state: { open?: OpenSource };
  readonly drop: Drop;
  fail(thrown: unknown): void;
}

function startAttempt(
  { metrics, log, sources }: ScrapeOptions,
  source: ScrapeSource,
  context: Parameters<typeof openSource>[1] & { isGone(): boolean },
): Attempt {
  const state: { open?: OpenSource } = {};
  const isOneOfMany = sources.filter(({ kind }) => kind === "application").length > 1 && source.kind === "application";
  const fail = (thrown: unknown) => {
    // The scraper left: what broke off then is not the source's failure.
    if (context.isGone()) return;
    metrics.failures.inc([source.kind]);
    const what = errorMessage(thrown);
    log.error(
      isOneOfMany
        ? `scrape target ${source.name}: scrape failed: ${what}`
        : `failed scraping ${source.kind} metrics: ${what}`,
    );
  };
  const opened = openSource(source, context).then((open) => {
    state.open = open;
  }, fail);
  return { source, opened, state, fail, drop: (what, count) => metrics.dropped.inc([source.kind, what], count) };
}

interface Plan {
  readonly known: FamilyIndex;
  readonly agentNames: readonly string[];
  readonly processFamilies: FamilyIndex;
  /** Of the attempts that are wholly in memory. */
  readonly names: Map<Attempt, readonly string[]>;
}

/** Indexes what is wholly in memory, so that families of several sources come under one header. */
function planDocument(attempts: readonly Attempt[], answer: AnswerFormat, options: ScrapeOptions): Plan {
  const known: FamilyIndex = new Map();
  const processFamilies: FamilyIndex = new Map();
  for (const [name, family] of agentFamilies(answer, options))
    (PROCESS_FAMILY.test(name) ? processFamilies : known).set(name, family);
  const agentNames = [...known.keys()];
  const names = new Map<Attempt, readonly string[]>();
  for (const attempt of attempts) {
    const { open } = attempt.state;
    if (open?.head.isWhole !== true) continue;
    try {
      names.set(
        attempt,
        addToIndex(
          known,
          indexBody(open.head.chunks, readerOptions(open, answer), attempt.drop, options.onOverflow),
          attempt.drop,
        ),
      );
    } catch (thrown) {
      names.set(attempt, []);
      attempt.fail(thrown);
    }
  }
  return { known, agentNames, processFamilies, names };
}

function agentFamilies(answer: AnswerFormat, { agentText, metrics, log }: ScrapeOptions): FamilyIndex {
  try {
    const from = { from: "text", to: answer.format, isTrusted: true } as const;
    return indexBody([Buffer.from(agentText())], from, () => undefined);
  } catch (thrown) {
    metrics.failures.inc(["agent"]);
    log.error(`failed gathering agent metrics: ${errorMessage(thrown)}`);
    return new Map();
  }
}

/** A large or late body: passed on as it comes, its families checked against those already written. */
async function streamSource(
  attempt: Attempt,
  target: {
    readonly document: MergedDocument;
    readonly out: BlockWriter;
    readonly answer: AnswerFormat;
    readonly onOverflow?: OnOverflow | undefined;
  },
): Promise<void> {
  await attempt.opened;
  const { open } = attempt.state;
  if (open === undefined) return;
  const options = readerOptions(open, target.answer);
  const sink = target.document.sink(attempt.drop);
  const renamed = options.isTrusted ? withMeshNames(sink, target.onOverflow) : undefined;
  const reader = new FamilyReader(renamed ?? sink, options);
  let bytes = 0;
  const push = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > attempt.source.maxBytes) throw tooLarge(attempt.source);
    reader.push(chunk);
  };
  try {
    for (const chunk of open.head.chunks) push(chunk);
    if (!open.head.isWhole) await readRest(open.body.stream, target.out, push);
    reader.end(true);
  } catch (thrown) {
    reader.end(false);
    attempt.fail(thrown);
  }
  renamed?.end();
  if (reader.brokenLines > 0) attempt.drop("line", reader.brokenLines);
}

function readerOptions({ source, answer: own }: OpenSource, answer: AnswerFormat) {
  return { from: own.format, to: answer.format, isTrusted: source.kind === "envoy" };
}
