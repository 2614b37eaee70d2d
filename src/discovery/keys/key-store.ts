import { abortAfter } from "../../base/abort-after.ts";
import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { untilAborted, wait } from "../../base/wait.ts";
import type { ConfigObject, ObjectRef } from "../../istio-api/config-object.ts";
import { type TokenKeys, tokenKeysName } from "../../mesh-model/token-keys.ts";
import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import { fetchTokenKeys } from "./fetch-token-keys.ts";

export interface KeyStoreOptions {
  readonly log: Logger;
  /** Between two fetches that succeed; 20 minutes. */
  readonly refreshMs?: number;
  readonly backoff?: BackoffOptions;
  /** For rules that say nothing about it; 5 s. */
  readonly timeoutMs?: number;
}

/** Objects whose keys are others than before. */
type KeyChange = readonly ObjectRef[];

export interface KeyStore extends Handle {
  /** All that could be fetched; another value after every change. */
  readonly keys: TokenKeys;
  /** The objects of now: what they ask for is fetched, what none asks for any more is forgotten. */
  want(objects: readonly ConfigObject<"RequestAuthentication">[]): void;
  subscribe(listener: (change: KeyChange) => void): void;
  /** Resolves when every key set that is wanted now was had or could not be had at the first attempt, or when the time is over. */
  tried(limitMs: number): Promise<void>;
}

interface Entry {
  wanted: RequestedKeys;
  readonly leaving: AbortController;
  /** The first attempt. */
  readonly tried: Promise<void>;
  readonly done: Promise<void>;
}

const REFRESH_MS = 20 * 60_000;
const BACKOFF: BackoffOptions = { initialMs: 1000, maxMs: 60_000, factor: 2, jitter: 0.2 };

export function startKeyStore({
  log,
  refreshMs = REFRESH_MS,
  backoff = BACKOFF,
  timeoutMs = 5000,
}: KeyStoreOptions): KeyStore {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(change: KeyChange) => void>();
  let keys: TokenKeys = new Map();

  const put = (name: string, text: string, { objects }: RequestedKeys) => {
    if (keys.get(name) === text) return;
    keys = new Map([...keys, [name, text]]);
    for (const listener of listeners) listener(objects);
  };
  const follow = async (name: string, entry: () => Entry, signal: AbortSignal, onTried: () => void) => {
    let failures = 0;
    while (!signal.aborted) {
      const { wanted } = entry();
      try {
        const text = await fetchTokenKeys(wanted, { timeoutMs: wanted.timeoutMs ?? timeoutMs, signal });
        if (signal.aborted) return;
        if (failures > 0) log.info("keys for tokens were fetched after all", describe(wanted));
        failures = 0;
        put(name, text, entry().wanted);
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        // Once for each outage: attempts go on.
        if (failures === 1) {
          const effect = keys.has(name) ? "the last ones stay" : "all tokens are rejected";
          log.warn(`keys for tokens cannot be fetched, ${effect}`, {
            ...describe(wanted),
            error: errorMessage(thrown),
          });
        }
      }
      onTried();
      await wait(failures === 0 ? refreshMs : backoffDelayMs(backoff, failures), signal);
    }
  };
  const start = (name: string, wanted: RequestedKeys): Entry => {
    const leaving = new AbortController();
    let onTried = () => {};
    const tried = new Promise<void>((resolve) => {
      onTried = resolve;
    });
    const done = Promise.resolve()
      .then(() => follow(name, () => entry, leaving.signal, onTried))
      .finally(onTried);
    const entry: Entry = { wanted, leaving, tried, done };
    return entry;
  };
  const leave = (name: string): Promise<void> | undefined => {
    const entry = entries.get(name);
    entries.delete(name);
    keys = new Map([...keys].filter(([other]) => other !== name));
    entry?.leaving.abort();
    return entry?.done;
  };
  const leaves = new Set<Promise<void>>();

  return toHandle({
    get keys() {
      return keys;
    },
    want: (objects: readonly ConfigObject<"RequestAuthentication">[]) => {
      const wanted = requestedKeys(objects);
      for (const name of [...entries.keys()].filter((known) => !wanted.has(known))) {
        const left = leave(name);
        if (left === undefined) continue;
        leaves.add(left);
        void left.finally(() => leaves.delete(left));
      }
      for (const [name, newer] of wanted) {
        const entry = entries.get(name);
        if (entry === undefined) entries.set(name, start(name, newer));
        else entry.wanted = newer;
      }
    },
    subscribe: (listener: (change: KeyChange) => void) => void listeners.add(listener),
    tried: async (limitMs: number) => {
      const all = Promise.all([...entries.values()].map(({ tried }) => tried));
      using limit = abortAfter(limitMs);
      await Promise.race([all, untilAborted(limit.signal)]);
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      listeners.clear();
      await Promise.all([...[...entries.keys()].map(leave), ...leaves]);
    },
  });
}

function describe({ objects, jwksUri, issuer }: RequestedKeys) {
  const from = jwksUri === "" ? { issuer } : {};
  return { objects: objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(", "), ...from };
}

/** A key set and who asks for it. */
interface RequestedKeys {
  /** Empty: where the issuer says. */
  readonly jwksUri: string;
  readonly issuer: string;
  /** The longest that a rule allows; absent when none says anything. */
  readonly timeoutMs?: number;
  readonly objects: readonly ObjectRef[];
}

/** Key sets that objects ask for, by name, each once. */
function requestedKeys(objects: readonly ConfigObject<"RequestAuthentication">[]): ReadonlyMap<string, RequestedKeys> {
  const wanted = new Map<string, RequestedKeys>();
  for (const { kind, namespace, name, spec } of objects) {
    for (const rule of spec.jwtRules) {
      const keysName = tokenKeysName(rule);
      if (keysName === undefined) continue;
      const { jwksUri, issuer } = rule;
      const known = wanted.get(keysName);
      const others = known?.objects ?? [];
      const isKnown = others.some((other) => other.namespace === namespace && other.name === name);
      const limits = [known?.timeoutMs, milliseconds(rule.timeout)].filter((limit) => limit !== undefined);
      wanted.set(keysName, {
        jwksUri,
        issuer,
        ...(limits.length > 0 && { timeoutMs: Math.max(...limits) }),
        objects: isKnown ? others : [...others, { kind, namespace, name }],
      });
    }
  }
  return wanted;
}

function milliseconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : Number(parseProtoDuration(duration) / 1_000_000n);
}
