import { RCODE } from "../protocol/dns/constants.ts";
import { rcodeOf } from "../protocol/dns/reply-check.ts";
import type { UpstreamDone } from "./upstream.ts";

export interface RaceOptions {
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
