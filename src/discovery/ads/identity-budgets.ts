import type { XdsProtocol } from "../../xds/methods.ts";
import type { NameList } from "../../xds/name-list.ts";
import { createIncoming, type Incoming, type Receipt } from "./incoming-requests.ts";
import type { AdsMetrics } from "./metrics.ts";
import type { EncodedNames } from "./request-codec.ts";

/** What the streams of one identity may hold together; 0 or less: no limit. */
export interface IdentityLimits {
  readonly maxStreams: number;
  /** Names of all subscriptions. Lists that are equal are held once, so they count once: replicas of a workload share theirs. */
  readonly maxNames: number;
  /** Bytes of these names. */
  readonly maxNameBytes: number;
}

export const DEFAULT_IDENTITY_LIMITS: IdentityLimits = {
  maxStreams: 5000,
  maxNames: 250_000,
  maxNameBytes: 32 * 1024 * 1024,
};

/** What one stream holds of its identity's budget. */
export interface StreamAccount {
  /** Resolves when there is room to receive a request of so many bytes; the requests of an identity that are on their way are limited. */
  receive(bytes: number): Promise<void> | undefined;
  /** The first request that was received, and not yet given back, has been dealt with. */
  received(): void;
  /**
   * Whether names that are not decoded yet would go beyond the budget: in place of those the stream holds of the type (sotw), or added to
   * them (delta). A returned text refuses them. Equal lists are found by looking their names up one after the other.
   */
  foresee(type: string, names: EncodedNames, protocol: XdsProtocol): string | undefined;
  /** The stream's names of a type are these from now on; undefined: none. A returned text refuses them, and nothing has changed. */
  hold(type: string, names: NameList | undefined): string | undefined;
  /** Gives everything back. */
  close(): void;
}

export interface IdentityBudgets {
  /** A returned text refuses the stream. */
  open(identity: string): StreamAccount | { readonly refusal: string };
}

interface Budget {
  streams: number;
  readonly incoming: Incoming;
  names: number;
  bytes: number;
  /** How many subscriptions have the list. */
  readonly lists: Map<NameList, { holders: number; readonly bytes: number }>;
}

/** One identity, however many streams it opens, takes a bounded part of the control plane's memory. */
export function createIdentityBudgets(
  limits: IdentityLimits,
  refusals: Pick<AdsMetrics["budgetRefusals"], "inc">,
): IdentityBudgets {
  const budgets = new Map<string, Budget>();
  const refuse = (limit: "streams" | "names" | "bytes", text: string): string => {
    refusals.inc([limit]);
    return text;
  };
  const excess = (identity: string, budget: Pick<Budget, "names" | "bytes">): string | undefined => {
    const { maxNames, maxNameBytes } = limits;
    if (isOver(budget.names, maxNames)) {
      return refuse(
        "names",
        `${identity} subscribes to ${budget.names} names on all its streams, at most ${maxNames} are allowed`,
      );
    }
    if (!isOver(budget.bytes, maxNameBytes)) return undefined;
    return refuse(
      "bytes",
      `${identity} subscribes to names of ${budget.bytes} bytes on all its streams, at most ${maxNameBytes} are allowed`,
    );
  };
  return {
    open(identity) {
      const budget = budgets.get(identity) ?? createBudget(limits.maxNameBytes);
      if (isOver(budget.streams + 1, limits.maxStreams)) {
        const text = `${identity} has ${budget.streams} streams, at most ${limits.maxStreams} are allowed`;
        return { refusal: refuse("streams", text) };
      }
      budget.streams += 1;
      budgets.set(identity, budget);
      const held = new Map<string, NameList>();
      const receipts: Receipt[] = [];
      return {
        receive(bytes) {
          const receipt = budget.incoming.take(bytes);
          receipts.push(receipt);
          return receipt.room;
        },
        received: () => receipts.shift()?.release(),
        foresee(type, names, protocol) {
          const before = held.get(type);
          const next = protocol === "sotw" ? names : withAdded(before, names);
          const ownShare = before === undefined ? NOTHING : shareOf(budget, before);
          const total = {
            names: budget.names - ownShare.names + next.count,
            bytes: budget.bytes - ownShare.bytes + next.bytes,
          };
          const isExcess = isOver(total.names, limits.maxNames) || isOver(total.bytes, limits.maxNameBytes);
          return isExcess && !isHeld(budget, next, names) ? excess(identity, total) : undefined;
        },
        hold(type, names) {
          const before = held.get(type);
          if (names === before) return undefined;
          if (names !== undefined) addList(budget, names);
          if (before !== undefined) removeList(budget, before);
          const refusal = names === undefined ? undefined : excess(identity, budget);
          if (refusal !== undefined && names !== undefined) {
            if (before !== undefined) addList(budget, before);
            removeList(budget, names);
            return refusal;
          }
          if (names === undefined) held.delete(type);
          else held.set(type, names);
          return undefined;
        },
        close() {
          for (const names of held.values()) removeList(budget, names);
          held.clear();
          for (const receipt of receipts.splice(0)) receipt.release();
          budget.streams -= 1;
          if (budget.streams === 0) budgets.delete(identity);
        },
      };
    },
  };
}

const isOver = (count: number, limit: number): boolean => limit > 0 && count > limit;

function createBudget(maxIncomingBytes: number): Budget {
  return { streams: 0, incoming: createIncoming(maxIncomingBytes), names: 0, bytes: 0, lists: new Map() };
}

interface Size {
  readonly count: number;
  readonly bytes: number;
}

const NOTHING = { names: 0, bytes: 0 };

/** What is given back with the list: nothing while others hold it. */
function shareOf(budget: Budget, list: NameList): typeof NOTHING {
  const known = budget.lists.get(list);
  return known?.holders === 1 ? { names: list.list.length, bytes: known.bytes } : NOTHING;
}

function withAdded(before: NameList | undefined, names: EncodedNames): Size {
  if (before === undefined) return names;
  let [count, bytes] = [before.list.length, byteLength(before)];
  for (const name of names) {
    if (before.has(name)) continue;
    count += 1;
    bytes += Buffer.byteLength(name);
  }
  return { count, bytes };
}

/** Whether a list of this size that has all of the names is held already. */
function isHeld(budget: Budget, { count, bytes }: Size, names: EncodedNames): boolean {
  for (const [list, known] of budget.lists) {
    if (list.list.length === count && known.bytes === bytes && hasAll(list, names)) return true;
  }
  return false;
}

function hasAll(list: NameList, names: EncodedNames): boolean {
  for (const name of names) if (!list.has(name)) return false;
  return true;
}

function byteLength(names: NameList): number {
  return names.list.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
}

function addList(budget: Budget, names: NameList): void {
  const known = budget.lists.get(names);
  if (known !== undefined) {
    known.holders += 1;
    return;
  }
  const bytes = byteLength(names);
  budget.lists.set(names, { holders: 1, bytes });
  budget.names += names.list.length;
  budget.bytes += bytes;
}

function removeList(budget: Budget, names: NameList): void {
  const known = budget.lists.get(names);
  if (known === undefined) return;
  known.holders -= 1;
  if (known.holders > 0) return;
  budget.lists.delete(names);
  budget.names -= names.list.length;
  budget.bytes -= known.bytes;
}
