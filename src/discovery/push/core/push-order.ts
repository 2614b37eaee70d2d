/** Who waits for a push, who is being served, and who has to be served again. Never holds anybody twice. */
export interface PushOrder<Client> {
  enqueue(client: Client, since: number): void;
  /** The next one to serve; undefined when none waits. */
  take(): { readonly client: Client; readonly since: number } | undefined;
  /** Was served; goes to the end of the line when something came up meanwhile. */
  done(client: Client): void;
  /** Nobody is taken in any more and nobody waits. */
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
