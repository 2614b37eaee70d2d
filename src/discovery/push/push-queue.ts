import { createPushOrder } from "./core/push-order.ts";

export interface PushQueueOptions<Client> {
  /** How many are served at a time. */
  readonly concurrency: number;
  /** Must not reject. */
  readonly serve: (client: Client, since: number) => Promise<void>;
}

export interface PushQueue<Client> {
  enqueue(client: Client, since: number): void;
  /** Drops who waits; resolves when nobody is served any more. */
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
