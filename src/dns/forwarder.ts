import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { RCODE } from "../protocol/dns/constants.ts";
import { isTruncated, rcodeOf } from "../protocol/dns/reply-check.ts";
import { readSections } from "../protocol/dns/sections.ts";
import { type Random16, shuffle } from "./core/shuffle.ts";
import { DnsError } from "./errors.ts";
import { createLogLimit } from "./log-limit.ts";
import type { DnsMetrics } from "./metrics.ts";
import type { Transport } from "./options.ts";
import type { UpstreamDone, UpstreamTransport } from "./upstream.ts";

export interface ForwarderOptions {
  readonly udp: UpstreamTransport;
  readonly tcp: UpstreamTransport;
  readonly timeoutMs: number;
  readonly parallel: boolean;
  readonly maxForwards: number;
  /** Undefined asks in the order of the file. */
  readonly shuffleServers: Random16 | undefined;
  readonly log: Logger;
  readonly metrics: DnsMetrics;
}

export interface Forwarder {
  /** Replaces the nameservers for queries from now on. */
  setServers(servers: readonly string[]): void;
  /** The reply under upstream's transaction id, shared by all who asked the same; undefined when no server answered. */
  forward(message: Buffer, transport: Transport): Promise<Buffer | undefined>;
  /** Ends everything that waits as unanswered. */
  stop(): Promise<void>;
}

interface Forward {
  readonly reply: Promise<Buffer | undefined>;
  readonly end: () => void;
}

/** One failing server is worth a line a second; the rest is for whoever debugs. */
const FAILURE_LOG_INTERVAL_MS = 1_000;

/** Each waits about three times. Ten thousand usual questions are half a megabyte; one may pad its own to sixty-four kilobytes. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Asks the nameservers, identical questions only once at a time and never more than `maxForwards` of them. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { udp, tcp, metrics, log } = options;
  const inFlight = { udp: new Map<string, Forward>(), tcp: new Map<string, Forward>() };
  let waitingBytes = 0;
  let servers: readonly string[] = [];
  let stopped = false;
  const reportFailure = createFailureLog(log, options.parallel);
  const isAllFailedDue = createLogLimit(FAILURE_LOG_INTERVAL_MS);

  const ask = (server: string, message: Buffer, transport: Transport, settle: UpstreamDone) => {
    const done: UpstreamDone = (outcome) => settle(outcome instanceof Error ? outcome : readable(server, outcome));
    if (transport === "tcp") return tcp.query(server, message, done);
    let giveUp = udp.query(server, message, (outcome) => {
      if (outcome instanceof Error || !isTruncated(outcome)) return done(outcome);
      // The whole answer may fit what the client can take; when TCP fails the truncated one still sends it there.
      giveUp = tcp.query(server, message, (whole) => done(whole instanceof Error ? outcome : whole));
    });
    return () => giveUp();
  };
  const start = (key: string, message: Buffer, transport: Transport): Promise<Buffer | undefined> => {
    const began = performance.now();
    const order = [...servers];
    if (options.shuffleServers !== undefined) shuffle(order, options.shuffleServers);
    const { promise, resolve } = withResolver<Buffer | undefined>();
    const end = raceUpstreams({
      servers: order,
      ask: (server, done) => ask(server, message, transport, done),
      timeoutMs: options.timeoutMs,
      parallel: options.parallel,
      onFailure: reportFailure,
      onEnd: (reply) => {
        inFlight[transport].delete(key);
        waitingBytes -= message.length;
        if (reply === undefined && options.parallel && !stopped && isAllFailedDue("")) log.info("all upstream failed");
        metrics.upstreamSeconds.observe((performance.now() - began) / 1_000);
        resolve(reply);
      },
    });
    inFlight[transport].set(key, { reply: promise, end });
    waitingBytes += message.length;
    return promise;
  };

  return {
    setServers(next) {
      servers = [...new Set(next)];
    },
    async forward(message, transport) {
      metrics.upstreamRequests.inc();
      // All but the transaction id: flags and options may change the answer.
      const key = message.toString("latin1", 2);
      const known = inFlight[transport].get(key);
      const isFull =
        inFlight.udp.size + inFlight.tcp.size >= options.maxForwards ||
        waitingBytes + message.length > MAX_WAITING_BYTES;
      const isPossible = !stopped && servers.length > 0 && (known !== undefined || !isFull);
      const reply = isPossible ? await (known?.reply ?? start(key, message, transport)) : undefined;
      if (reply === undefined) metrics.upstreamFailures.inc();
      return reply;
    },
    async stop() {
      stopped = true;
      for (const { end } of [...inFlight.udp.values(), ...inFlight.tcp.values()]) end();
      await Promise.all([udp.stop(), tcp.stop()]);
    },
  };
}

/** A reply that no client could read is a failure of its server: another one may do better. */
function readable(server: string, reply: Buffer): Buffer | Error {
  if (readSections(reply) !== undefined) return reply;
  return new DnsError("upstream-failed", `${server}: the records of the reply cannot be read`);
}

function createFailureLog(log: Logger, parallel: boolean): (server: string, failure: Error) => void {
  const prefix = parallel ? "parallel querying upstream failure" : "upstream failure";
  const isDue = createLogLimit(FAILURE_LOG_INTERVAL_MS);
  return (server, failure) => {
    const line = `${prefix}: ${errorMessage(failure)}`;
    if (isDue(server)) log.info(line, { server });
    else log.debug(line, { server });
  };
}

function withResolver<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

interface RaceOptions {
  /** Each once, at least one. */
  readonly servers: readonly string[];
  /** Asks one server; returns how to give up. */
  readonly ask: (server: string, done: UpstreamDone) => () => void;
  /** For all servers together. */
  readonly timeoutMs: number;
  /** Asks all at once instead of one after the other. */
  readonly parallel: boolean;
  readonly onFailure: (server: string, failure: Error) => void;
  /** Called once, with the reply to relay or undefined when no server answered. */
  readonly onEnd: (reply: Buffer | undefined) => void;
}

/**
 * Asks servers until one answers usefully. The next one is asked when a server fails, says SERVFAIL or REFUSED, or has used up its share of
 * the time; a late answer of an earlier server still counts. Returns how to end the race early.
 */
export function raceUpstreams(options: RaceOptions): () => void {
  const { servers, ask, timeoutMs, parallel, onFailure, onEnd } = options;
  const giveUps: (() => void)[] = [];
  let asked = 0;
  const pending = new Set<string>();
  let refusal: Buffer | undefined;
  let ended = false;
  let patience: NodeJS.Timeout | undefined;

  const end = (reply: Buffer | undefined) => {
    if (ended) return;
    ended = true;
    clearTimeout(deadline);
    clearTimeout(patience);
    for (const giveUp of giveUps) giveUp();
    onEnd(reply);
  };
  const askNext = () => {
    const server = servers[asked];
    if (ended || server === undefined) return;
    asked++;
    pending.add(server);
    giveUps.push(ask(server, (outcome) => settle(server, outcome)));
    if (parallel) return askNext();
    clearTimeout(patience);
    if (asked < servers.length) patience = setTimeout(askNext, timeoutMs / servers.length);
  };
  const settle = (server: string, outcome: Buffer | Error) => {
    pending.delete(server);
    if (ended) return;
    if (outcome instanceof Error) onFailure(server, outcome);
    else if (!isRefusal(outcome)) return end(outcome);
    else refusal ??= outcome;
    if (asked < servers.length) askNext();
    else if (pending.size === 0) end(refusal);
  };

  const deadline = setTimeout(() => {
    for (const server of pending) onFailure(server, new Error("i/o timeout"));
    end(refusal);
  }, timeoutMs);
  askNext();
  return () => end(undefined);
}

function isRefusal(reply: Buffer): boolean {
  const rcode = rcodeOf(reply);
  return rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED;
}
