interface PushQueueOptions<Client> {
  /** How many are served at a time. */
  readonly concurrency: number;
  /** Must not reject. */
  readonly serve: (client: Client, since: number) => Promise<void>;
}

interface PushQueue<Client> {
  enqueue(client: Client, since: number): void;
  /** No client waits or is being served. */
  readonly isIdle: boolean;
  /** Drops waiting clients; resolves when none is being served. */
  stop(): Promise<void>;
}

/** Serves clients in turn and lets requests, readers and timers in between: a push to thousands must not stop the server's other work. */
export function createPushQueue<Client>({ concurrency, serve }: PushQueueOptions<Client>): PushQueue<Client> {
  const order = createPushOrder<Client>();
  let scheduled: NodeJS.Immediate | undefined;
  let onIdle: (() => void) | undefined;
  const schedule = () => {
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      if (order.serving >= concurrency) return;
      const next = order.take();
      if (next === undefined) return;
      void serve(next.client, next.since).finally(() => {
        order.done(next.client);
        if (order.serving === 0) onIdle?.();
        schedule();
      });
      schedule();
    });
  };
  return {
    enqueue: (client, since) => {
      order.enqueue(client, since);
      schedule();
    },
    get isIdle() {
      return order.waiting === 0 && order.serving === 0;
    },
    stop: async () => {
      order.shutDown();
      clearImmediate(scheduled);
      if (order.serving > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      clearImmediate(scheduled);
    },
  };
}

/** Clients that wait for a push, those being served, and those to serve again. Holds no client twice. */
interface PushOrder<Client> {
  enqueue(client: Client, since: number): void;
  /** The next one to serve; undefined when none waits. */
  take(): { readonly client: Client; readonly since: number } | undefined;
  /** Was served; goes to the end of the line when something came up meanwhile. */
  done(client: Client): void;
  /** No client is accepted any more and none waits. */
  shutDown(): void;
  readonly waiting: number;
  readonly serving: number;
}

/** First come, first served. Of a client that waits already the older time counts. */
export function createPushOrder<Client>(): PushOrder<Client> {
  const waiting = new Map<Client, number>();
  const serving = new Map<Client, { again: number | undefined }>();
  let isShut = false;
  const enqueue = (client: Client, since: number) => {
    if (isShut) return;
    const parked = serving.get(client);
    if (parked !== undefined) parked.again ??= since;
    else if (!waiting.has(client)) waiting.set(client, since);
  };
  return {
    enqueue,
    take: () => {
      const [first] = waiting;
      if (first === undefined) return undefined;
      const [client, since] = first;
      waiting.delete(client);
      serving.set(client, { again: undefined });
      return { client, since };
    },
    done: (client) => {
      const parked = serving.get(client);
      serving.delete(client);
      if (parked?.again !== undefined) enqueue(client, parked.again);
    },
    shutDown: () => {
      isShut = true;
      waiting.clear();
    },
    get waiting() {
      return waiting.size;
    },
    get serving() {
      return serving.size;
    },
  };
}
