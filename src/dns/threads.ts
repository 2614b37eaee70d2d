import { Worker } from "node:worker_threads";
import { backoffDelayMs } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { HostPort } from "../net/host-port.ts";
import { encodeNameTable, type NameTable } from "../xds/name-table.ts";
import type { DnsMetrics } from "./metrics.ts";
import { MAIN_THREAD, type PortMap, releaseAll } from "./port-owners.ts";
import type { ResolverConfig, ResolverSettings } from "./resolver.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";
import { addReport } from "./thread-metrics.ts";

const RESTART = { initialMs: 100, maxMs: 30_000, factor: 2, jitter: 0.2 };
/** A thread that served this long has nothing to do with earlier failures. */
const HEALTHY_MS = 60_000;
/** A worker that is stuck is not waited for. */
const STOP_DEADLINE_MS = 2_000;

export interface ThreadsOptions {
  /** Workers beside the main thread. */
  readonly count: number;
  readonly url: URL;
  readonly settings: ResolverSettings;
  readonly addresses: readonly HostPort[];
  readonly ports: PortMap;
  readonly log: Logger;
  readonly metrics: DnsMetrics;
}

export interface Threads {
  configure(config: ResolverConfig): void;
  /** The main thread has other sockets than before. */
  setAddresses(addresses: readonly HostPort[]): void;
  setTable(table: NameTable): void;
  stop(): Promise<void>;
}

/** Workers that answer UDP beside the main thread, each with a table of its own. Starts them without waiting: one thread serves already. */
export function startThreads(options: ThreadsOptions): Threads {
  let config: ResolverConfig = { search: undefined, servers: [] };
  let { addresses } = options;
  let table: NameTable | undefined;
  const members = Array.from({ length: options.count }, (_, index) =>
    startMember(options, MAIN_THREAD + 1 + index, () => ({ config, addresses, table })),
  );
  return {
    configure(next) {
      config = next;
      for (const member of members) member.thread.send(configMessage(next));
    },
    setAddresses(next) {
      addresses = next;
      for (const member of members) member.thread.send({ type: "addresses", addresses: next });
    },
    setTable(next) {
      table = next;
      const bytes = tableBytes(next);
      for (const member of members) member.offer(bytes);
    },
    async stop() {
      await Promise.all(members.map(({ thread }) => thread.stop()));
    },
  };
}

interface Member {
  readonly thread: Thread;
  offer(table: Uint8Array): void;
}

type Current = () => {
  readonly config: ResolverConfig;
  readonly addresses: readonly HostPort[];
  readonly table: NameTable | undefined;
};

function startMember(options: ThreadsOptions, number: number, current: Current): Member {
  const { log, metrics } = options;
  const debug = new Uint8Array(new SharedArrayBuffer(1));
  const noteLogLevel = () => {
    debug[0] = log.enabled("debug") ? 1 : 0;
  };
  // One table at a time is under way; of those that come meanwhile only the last is worth sending.
  let isBuilding = false;
  let waiting: Uint8Array | undefined;
  const sendTable = (bytes: Uint8Array) => {
    isBuilding = true;
    thread.send({ type: "table", bytes });
  };
  const receive = (message: FromThread) => {
    if (message.type === "log") log[message.level](message.message, { ...message.fields, thread: number });
    else if (message.type === "serving") log.info("DNS thread serves", { thread: number });
    else if (message.type === "metrics") {
      noteLogLevel();
      addReport(metrics, message.report);
    } else {
      isBuilding = false;
      const next = waiting;
      waiting = undefined;
      if (next !== undefined) sendTable(next);
    }
  };
  noteLogLevel();
  const thread = startThread({
    url: options.url,
    data: {
      dnsThread: number,
      settings: options.settings,
      ports: options.ports,
      debug,
    },
    current: () => {
      const { config, addresses, table } = current();
      waiting = undefined;
      isBuilding = table !== undefined;
      const known: ToThread[] = [configMessage(config), { type: "addresses", addresses }];
      return table === undefined ? known : [...known, { type: "table", bytes: tableBytes(table) }];
    },
    onMessage: receive,
    onDeath: (cause, restartMs) => {
      releaseAll(options.ports, number);
      log.warn("a DNS thread ended and is started again; the others serve meanwhile", {
        thread: number,
        cause,
        after: `${Math.round(restartMs)}ms`,
      });
    },
  });
  return {
    thread,
    offer(bytes) {
      if (isBuilding) waiting = bytes;
      else sendTable(bytes);
    },
  };
}

function configMessage(config: ResolverConfig): ToThread {
  return { type: "config", config };
}

/** Exactly the table: what is posted takes along all the memory its view lies in. */
function tableBytes(table: NameTable): Uint8Array {
  return new Uint8Array(encodeNameTable(table));
}

interface ThreadOptions {
  readonly url: URL;
  readonly data: ThreadData;
  /** What a thread that starts, or starts again, must know. */
  readonly current: () => readonly ToThread[];
  readonly onMessage: (message: FromThread) => void;
  /** The thread ended unexpectedly. */
  readonly onDeath: (cause: string, restartMs: number) => void;
}

interface Thread {
  send(message: ToThread): void;
  stop(): Promise<void>;
}

/** One worker, started again whenever it dies. */
function startThread(options: ThreadOptions): Thread {
  const stopping = new AbortController();
  let worker: Worker | undefined;
  const live = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const began = performance.now();
      const cause = await runWorker(options, (started) => {
        worker = started;
      });
      worker = undefined;
      if (stopping.signal.aborted) return;
      failures = performance.now() - began > HEALTHY_MS ? 1 : failures + 1;
      const restartMs = backoffDelayMs(RESTART, failures);
      options.onDeath(cause, restartMs);
      await wait(restartMs, stopping.signal);
    }
  };
  const lived = live();
  return {
    send(message) {
      worker?.postMessage(message);
    },
    async stop() {
      stopping.abort();
      worker?.postMessage({ type: "stop" } satisfies ToThread);
      const stuck = setTimeout(() => void worker?.terminate(), STOP_DEADLINE_MS);
      await lived;
      clearTimeout(stuck);
    },
  };
}

/** Resolves with the reason when the worker is gone; never rejects. */
function runWorker(options: ThreadOptions, onStart: (worker: Worker) => void): Promise<string> {
  return new Promise((resolve) => {
    let cause: string | undefined;
    try {
      // Options of the main thread's command line (inspector, profiles, loaders) are not for it.
      const worker = new Worker(options.url, {
        workerData: options.data,
        execArgv: [],
        name: `dns-${options.data.dnsThread}`,
      });
      worker.on("message", options.onMessage);
      worker.on("error", (failure) => {
        cause = errorMessage(failure);
      });
      worker.on("exit", (code) => resolve(cause ?? `exit code ${code}`));
      for (const message of options.current()) worker.postMessage(message);
      onStart(worker);
    } catch (failure) {
      resolve(errorMessage(failure));
    }
  });
}
