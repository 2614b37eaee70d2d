import { randomUUID } from "node:crypto";
import type { Logger } from "../base/logger.ts";
import {
  EMPTY_OPT_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_UDP_BYTES,
  RCODE,
  RECORD_CLASS,
  RECORD_TYPE,
} from "../protocol/dns/constants.ts";
import { createQueryView, type QueryVerdict, type QueryView, readQuery, udpLimit } from "../protocol/dns/query.ts";
import { rcodeOf } from "../protocol/dns/reply-check.ts";
import { truncateMessage } from "../protocol/dns/truncate.ts";
import type { TlsRelay } from "./compat/tls-relay.ts";
import { type Decision, decideKnown, pointerTo } from "./core/decide.ts";
import type { DnsRules } from "./core/generations.ts";
import { type LookupOptions, lookup } from "./core/lookup.ts";
import type { LookupTable } from "./core/name-table.ts";
import { writeErrorReply, writeLocalReply } from "./core/reply.ts";
import { ReplyCache } from "./core/reply-cache.ts";
import { buildReverseIndex, type ReverseIndex, reverseAddress } from "./core/reverse-lookup.ts";
import type { Random16 } from "./core/shuffle.ts";
import type { Forwarder } from "./forwarder.ts";
import { createLogLimit } from "./log-limit.ts";
import type { DnsMetrics } from "./metrics.ts";
import type { Transport } from "./options.ts";

export interface QueryHandlerOptions {
  readonly rules: DnsRules;
  readonly forwardsOtherTypes: boolean;
  readonly forwardsBeforeSync: boolean;
  readonly random: Random16;
  readonly forwarder: Forwarder;
  /** Asked first about the names it covers. */
  readonly relay?: TlsRelay | undefined;
  /** Whether a query came from one of our own upstream sockets. */
  readonly isLoop: (transport: Transport, peerPort: number, message: Buffer) => boolean;
  readonly log: Logger;
  readonly metrics: DnsMetrics;
}

export interface QueryHandler {
  setTable(table: LookupTable): void;
  setSearch(search: string | undefined): void;
  /**
   * Writes the reply to `out` and returns its length; 0 when nothing is to be sent, {@link LATER} when upstream has to be asked: then
   * `answerLater` must be called with the same message before any other message is handled.
   */
  answer(message: Buffer, out: Buffer, transport: Transport): number;
  answerLater(message: Buffer, transport: Transport, peerPort: number): Promise<Buffer>;
}

export const LATER = -1;

const LOOP_LOG_INTERVAL_MS = 10_000;

const ERROR_RCODES: Readonly<Record<Exclude<QueryVerdict, "query" | "ignore">, number>> = {
  "format-error": RCODE.FORMERR,
  "not-implemented": RCODE.NOTIMP,
  refused: RCODE.REFUSED,
};

/** Decides about every query: answered here, asked upstream, refused or ignored. Knows nothing of sockets. */
export function createQueryHandler(options: QueryHandlerOptions): QueryHandler {
  const { rules, forwarder, log, metrics } = options;
  const view = createQueryView();
  let table: LookupTable | undefined;
  let reverse: ReverseIndex | undefined;
  let isKnownName = false;
  let lookupOptions: LookupOptions = { search: undefined, expandsSearchedNames: rules.expandsSearchedNames };
  const isLoopLogDue = createLogLimit(LOOP_LOG_INTERVAL_MS);
  const random = rules.shufflesAnswers ? options.random : undefined;
  const replies = new ReplyCache();
  const replyOptions = { limit: 0, authoritative: rules.authoritative, random };

  const decide = (known: LookupTable): Decision => {
    if (view.class !== RECORD_CLASS.IN && view.class !== RECORD_CLASS.ANY) return "forward";
    const match = lookup(known, view.name, lookupOptions);
    if (match !== undefined) return decideKnown(match, view.type, rules, options.forwardsOtherTypes);
    if (view.type !== RECORD_TYPE.PTR || options.forwardsOtherTypes) return "forward";
    const address = reverseAddress(view.name);
    if (address === undefined) return "forward";
    reverse ??= buildReverseIndex(known);
    const owner = reverse.get(address);
    return owner === undefined ? "forward" : pointerTo(owner.ownName);
  };

  return {
    setTable(next) {
      table = next;
      reverse = undefined;
      replies.clear();
    },
    setSearch(search) {
      lookupOptions = { ...lookupOptions, search };
      replies.clear();
    },
    answer(message, out, transport) {
      // Over TCP replies may be longer; requests that are logged have to be read.
      const isCached = transport === "udp" && !log.enabled("debug");
      const cached = isCached ? replies.copy(message, out) : 0;
      if (cached > 0) {
        metrics.requests.inc();
        return cached;
      }
      const verdict = readQuery(message, view);
      if (verdict === "ignore") return 0;
      if (verdict !== "query") return writeErrorReply(out, { message, view }, ERROR_RCODES[verdict]);
      metrics.requests.inc();
      if (log.enabled("debug")) logRequest(log, view, transport);
      isKnownName = false;
      if (table === undefined) {
        return options.forwardsBeforeSync ? LATER : writeErrorReply(out, { message, view }, RCODE.SERVFAIL);
      }
      const decision = decide(table);
      if (typeof decision === "string") {
        isKnownName = decision === "forward-known";
        return LATER;
      }
      replyOptions.limit = replyLimit(view, transport);
      const length = writeLocalReply(out, { message, view }, table, decision, replyOptions);
      if (isCached && (random === undefined || !hasOrder(decision))) replies.remember(message, out, length);
      return length;
    },
    async answerLater(message, transport, peerPort) {
      const limit = replyLimit(view, transport);
      const isKnown = isKnownName;
      if (options.isLoop(transport, peerPort, message)) {
        if (isLoopLogDue("")) log.warn("a nameserver leads back to this DNS proxy", { name: view.name });
        return servfail(message);
      }
      const question = completeQuestion(message, view.questionEnd);
      const reply = options.relay?.covers(view.name)
        ? await options.relay.ask(question)
        : await forwarder.forward(question, transport);
      return (reply && relayed(reply, message, limit, isKnown)) ?? servfail(message);
    },
  };
}

/** Whether there are records whose order may differ from one reply to the next. */
function hasOrder({ entry, ipv4, ipv6 }: Exclude<Decision, string>): boolean {
  return entry !== undefined && ((ipv4 && entry.ipv4Count > 1) || (ipv6 && entry.ipv6Count > 1));
}

function replyLimit(view: QueryView, transport: Transport): number {
  return transport === "tcp" ? MAX_MESSAGE_BYTES : Math.min(MAX_UDP_BYTES, udpLimit(view));
}

/** The reply of upstream under the client's transaction id, cut to what the client can take. A copy: others may share the reply. */
function relayed(reply: Buffer, message: Buffer, limit: number, isKnown: boolean): Buffer | undefined {
  const fitting = truncateMessage(reply, limit);
  if (fitting === undefined) return undefined;
  const copy = Buffer.from(fitting);
  message.copy(copy, 0, 0, 2);
  if (isKnown && rcodeOf(copy) === RCODE.NXDOMAIN) copy[3] = ((copy[3] ?? 0) & 0xf0) | RCODE.NOERROR;
  return copy;
}

/** Reads the query again: the shared view has moved on, and nearly all forwards need no error. */
function servfail(message: Buffer): Buffer {
  const view = createQueryView();
  readQuery(message, view);
  const out = Buffer.allocUnsafe(view.questionEnd + EMPTY_OPT_BYTES);
  return out.subarray(0, writeErrorReply(out, { message, view }, RCODE.SERVFAIL));
}

/** A question that was cut after its name or type goes on with the zeros it was read with. */
function completeQuestion(message: Buffer, questionEnd: number): Buffer {
  if (message.length >= questionEnd) return message;
  return Buffer.concat([message, Buffer.alloc(questionEnd - message.length)]);
}

function logRequest(log: Logger, view: QueryView, transport: Transport): void {
  log.debug("request", {
    protocol: transport,
    edns: view.udpBytes > 0,
    id: randomUUID(),
    name: view.name,
    type: view.type,
  });
}
