import type { NameList } from "../../xds/name-list.ts";
import type { AdsMetrics } from "./metrics.ts";

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
  const excess = (identity: string, budget: Budget): string | undefined => {
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
      const budget = budgets.get(identity) ?? { streams: 0, names: 0, bytes: 0, lists: new Map() };
      if (isOver(budget.streams + 1, limits.maxStreams)) {
        const text = `${identity} has ${budget.streams} streams, at most ${limits.maxStreams} are allowed`;
        return { refusal: refuse("streams", text) };
      }
      budget.streams += 1;
      budgets.set(identity, budget);
      const held = new Map<string, NameList>();
      return {
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
          budget.streams -= 1;
          if (budget.streams === 0) budgets.delete(identity);
        },
      };
    },
  };
}

const isOver = (count: number, limit: number): boolean => limit > 0 && count > limit;

function addList(budget: Budget, names: NameList): void {
  const known = budget.lists.get(names);
  if (known !== undefined) {
    known.holders += 1;
    return;
  }
  const bytes = names.list.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
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
