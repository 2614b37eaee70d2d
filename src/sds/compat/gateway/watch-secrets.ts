import { text } from "node:stream/consumers";
import { type BackoffOptions, backoffDelayMs } from "../../../base/backoff.ts";
import { errorMessage } from "../../../base/coded-error.ts";
import { type Handle, toHandle } from "../../../base/handle.ts";
import type { Logger } from "../../../base/logger.ts";
import { wait } from "../../../base/wait.ts";
import {
  type KubernetesAccess,
  KubernetesError,
  openGet,
  parseJson,
  parseSecret,
  secretsPath,
} from "./kubernetes-api.ts";
import type { KubernetesSecret } from "./kubernetes-secret.ts";

export interface WatchSecretsOptions {
  readonly access: KubernetesAccess;
  readonly namespace: string;
  readonly log: Logger;
  readonly backoff?: BackoffOptions;
  apply(secret: KubernetesSecret): void;
  remove(name: string): void;
}

const BACKOFF: BackoffOptions = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.5 };

const SHORT_WATCH_MS = 1000;

interface Event {
  readonly type: string;
  readonly object: { readonly metadata?: { readonly resourceVersion?: string }; readonly code?: number };
}

/** Follows the secrets of a namespace for as long as it lives: a list, then the changes since, again from the list after a gap. */
export function watchSecrets(options: WatchSecretsOptions): Handle {
  const { log } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  const known = new Set<string>();
  const run = async () => {
    let failures = 0;
    let version: string | undefined;
    while (!signal.aborted) {
      try {
        version ??= await list(options, known, signal);
        const begunMs = performance.now();
        version = await follow(options, known, version, signal);
        // A watch that ends as soon as it begins, time and again, would be a flood of requests.
        failures = performance.now() - begunMs < SHORT_WATCH_MS ? failures + 1 : 0;
        if (failures > 1) await wait(backoffDelayMs(options.backoff ?? BACKOFF, failures - 1), signal);
      } catch (failure) {
        if (signal.aborted) return;
        // What happened since is forgotten by the API server: begin with the list again.
        if (failure instanceof KubernetesError && failure.code === "gone") version = undefined;
        failures += 1;
        log.warn("watching gateway secrets failed", { error: errorMessage(failure) });
        await wait(backoffDelayMs(options.backoff ?? BACKOFF, failures), signal);
      }
    }
  };
  const done = run();
  return toHandle({
    ended: new Promise<void>(() => undefined),
    async stop() {
      stopped.abort();
      await done;
    },
  });
}

/** The version the list stands for. Secrets that are no longer in it are removed. */
async function list(options: WatchSecretsOptions, known: Set<string>, signal: AbortSignal): Promise<string> {
  const body = await openGet(options.access, secretsPath(options.namespace), signal);
  const { items = [], metadata } = (parseJson(await text(body)) ?? {}) as {
    items?: unknown[];
    metadata?: { resourceVersion?: string };
  };
  const secrets = items.map(parseSecret).filter((secret) => secret !== undefined);
  const present = new Set(secrets.map((secret) => secret.name));
  for (const name of [...known]) if (!present.has(name)) drop(options, known, name);
  for (const secret of secrets) put(options, known, secret);
  return metadata?.resourceVersion ?? "";
}

/** One event a line, until the API server ends the stream; then the version to go on from. */
async function follow(
  options: WatchSecretsOptions,
  known: Set<string>,
  from: string,
  signal: AbortSignal,
): Promise<string> {
  let version = from;
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(from)}`;
  const body = await openGet(options.access, `${secretsPath(options.namespace)}?${query}`, signal);
  let rest = "";
  for await (const chunk of body.setEncoding("utf8")) {
    const lines = `${rest}${String(chunk)}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() === "") continue;
      const { type, object } = parseJson(line) as Event;
      if (type === "ERROR")
        throw new KubernetesError(object.code === 410 ? "gone" : "refused", "the watch ended with an error");
      version = object.metadata?.resourceVersion ?? version;
      const secret = parseSecret(object);
      if (secret === undefined || type === "BOOKMARK") continue;
      if (type === "DELETED") drop(options, known, secret.name);
      else put(options, known, secret);
    }
  }
  return version;
}

function put(options: WatchSecretsOptions, known: Set<string>, secret: KubernetesSecret): void {
  known.add(secret.name);
  options.apply(secret);
}

function drop(options: WatchSecretsOptions, known: Set<string>, name: string): void {
  known.delete(name);
  options.remove(name);
}
