import type { NameList } from "./name-list.ts";

/** Why a client refused an answer. */
export interface Refusal {
  /** Of google.rpc.Status. */
  readonly code: number;
  readonly message: string;
}

/** What one client watches of one type, and how far it came. */
export interface Watch {
  /** Everything there is, not only the names. */
  readonly isWildcard: boolean;
  readonly names: NameList;
  /** Empty before the first answer. */
  readonly nonceSent: string;
  readonly nonceAcked: string;
  readonly versionSent: string;
  readonly versionAcked: string;
  /** Undefined once the client accepted a later answer. */
  readonly error: Refusal | undefined;
  readonly sentAt: number;
}

/** What a request leads to. */
export interface Decision {
  /** Undefined: the type is not watched any more. */
  readonly watch: Watch | undefined;
  readonly event: "subscribed" | "changed" | "acked" | "nacked" | "stale" | "unsubscribed";
  /** Names must be answered even when the client was sent the same before. */
  readonly answer: "nothing" | "everything" | readonly string[];
}

export function createWatch(isWildcard: boolean, names: NameList): Watch {
  return {
    isWildcard,
    names,
    nonceSent: "",
    nonceAcked: "",
    versionSent: "",
    versionAcked: "",
    error: undefined,
    sentAt: 0,
  };
}

export function withSent(watch: Watch, sent: { nonce: string; version: string; now: number }): Watch {
  return { ...watch, nonceSent: sent.nonce, versionSent: sent.version, sentAt: sent.now };
}

export function withAck(watch: Watch): Watch {
  return { ...watch, nonceAcked: watch.nonceSent, versionAcked: watch.versionSent, error: undefined };
}

export type SyncState = "NOT_SENT" | "SYNCED" | "STALE" | "ERROR";

export function syncState(watch: Watch | undefined): SyncState {
  if (watch === undefined || watch.nonceSent === "") return "NOT_SENT";
  if (watch.error !== undefined) return "ERROR";
  return watch.nonceAcked === watch.nonceSent ? "SYNCED" : "STALE";
}
