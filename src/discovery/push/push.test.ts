import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { until } from "../../../test/support/wait/until.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { NO_CHANGES, type PushChanges } from "../../mesh-model/changes/push-changes.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import { declarePushMetrics } from "./metrics.ts";
import { createPushOrder, createPushQueue } from "./push-queue.ts";
import { type PusherOptions, startPusher } from "./start-pusher.ts";

const RULES = { ...NO_CHANGES, objects: [{ kind: "Sidecar", namespace: "n", name: "s" }] } as const;
const SERVICES = { ...NO_CHANGES, services: new Set(["s"]) };
const ENDPOINTS = { ...NO_CHANGES, endpoints: new Set(["s"]) };

describe("the order of pushes", () => {
  test("is that of arrival; who waits already waits once, since its first time", () => {
    const order = createPushOrder<string>();
    order.enqueue("a", 1);
    order.enqueue("b", 2);
    order.enqueue("a", 3);
    expect(order.take()).toEqual({ client: "a", since: 1 });
    expect(order.take()).toEqual({ client: "b", since: 2 });
    expect(order.take()).toBeUndefined();
  });

  test("who is being served is parked and comes again at the end", () => {
    const order = createPushOrder<string>();
    order.enqueue("a", 1);
    order.take();
    order.enqueue("a", 5);
    order.enqueue("b", 6);
    order.enqueue("a", 7);
    expect(order).toMatchObject({ waiting: 1, serving: 1 });
    order.done("a");
    expect(order.take()?.client).toBe("b");
    expect(order.take()).toEqual({ client: "a", since: 5 });
  });

  test("ends with a shutdown: no one waits, no one is taken in", () => {
    const order = createPushOrder<string>();
    order.enqueue("a", 1);
    order.shutDown();
    order.enqueue("b", 2);
    expect(order.take()).toBeUndefined();
  });
});

describe("the queue", () => {
  test("serves so many at a time and everybody in the end", async () => {
    let running = 0;
    let most = 0;
    const served: number[] = [];
    const releases: (() => void)[] = [];
    const queue = createPushQueue<number>({
      concurrency: 3,
      serve: async (client) => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => void releases.push(resolve));
        running -= 1;
        served.push(client);
      },
    });
    for (let client = 0; client < 20; client += 1) queue.enqueue(client, 0);
    await until(() => expect(running).toBe(3));
    await until(() => {
      releases.shift()?.();
      expect(served).toHaveLength(20);
    });
    expect(most).toBe(3);
    await queue.stop();
  });

  test("stopping waits for who is served and drops who waits", async () => {
    let release: () => void = () => undefined;
    const served: string[] = [];
    const queue = createPushQueue<string>({
      concurrency: 1,
      serve: async (client) => {
        served.push(client);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    });
    queue.enqueue("a", 0);
    queue.enqueue("b", 0);
    await until(() => expect(served).toEqual(["a"]));
    const stopped = queue.stop();
    release();
    await stopped;
    expect(served).toEqual(["a"]);
  });
});

describe("bursts of changes", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const settings = { debounceAfterMs: 100, debounceMaxMs: 10_000, debouncesEndpoints: true, concurrency: 10 };
  const start = (more: Partial<PusherOptions> = {}) => {
    let built = 0;
    const log = recordLog();
    const registry = new MetricRegistry();
    const pusher = startPusher({
      settings,
      build: () => ({ version: String(++built) }) as PushSnapshot,
      clients: () => [],
      metrics: declarePushMetrics(registry),
      log,
      ...more,
    });
    return { pusher, log, registry };
  };

  test("100 events in 50 ms are one push", async () => {
    const { pusher, registry } = start();
    for (let event = 0; event < 100; event += 1) {
      pusher.trigger("config", RULES);
      await vi.advanceTimersByTimeAsync(0.5);
    }
    expect(pusher.isPending).toBe(true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(pusher.isPending).toBe(false);
    expect(pusher.pushes).toBe(2);
    expect(pusher.snapshot.version).toBe("2");
    expect(registry.render()).toContain('pilot_push_triggers{type="config"} 100');
  });

  test("events every 50 ms for 12 s are pushed after 10 s", async () => {
    const { pusher } = start();
    for (let at = 0; at < 12_000; at += 50) {
      pusher.trigger("endpoint", ENDPOINTS);
      await vi.advanceTimersByTimeAsync(50);
      if (at < 9900) expect(pusher.pushes).toBe(1);
    }
    expect(pusher.pushes).toBe(2);
    await vi.advanceTimersByTimeAsync(200);
    expect(pusher.pushes).toBe(3);
  });

  test("without debounce of endpoints they are pushed at once, other changes are not", async () => {
    const { pusher } = start({ settings: { ...settings, debouncesEndpoints: false } });
    pusher.trigger("endpoint", ENDPOINTS);
    expect(pusher.pushes).toBe(2);
    pusher.trigger("config", RULES);
    expect(pusher.pushes).toBe(2);
    await vi.advanceTimersByTimeAsync(150);
    expect(pusher.pushes).toBe(3);
  });

  test("a snapshot that cannot be made leaves the last one, and the next change tries again", async () => {
    let broken = false;
    const noted: PushChanges[] = [];
    const { pusher, log } = start({
      onPush: (changes) => void noted.push(changes),
      build: () => {
        if (broken) throw new Error("no");
        return { version: "good" } as PushSnapshot;
      },
    });
    broken = true;
    pusher.trigger("config", RULES);
    await vi.advanceTimersByTimeAsync(150);
    expect(pusher).toMatchObject({ pushes: 1, snapshot: { version: "good" } });
    expect(log.text()).toContain("snapshot could not be made");
    broken = false;
    pusher.trigger("service", SERVICES);
    await vi.advanceTimersByTimeAsync(150);
    expect(pusher.pushes).toBe(2);
    // What happened before the failure counts with the next snapshot.
    expect(noted).toEqual([{ ...RULES, services: SERVICES.services }]);
  });

  test("a change that changes nothing for anybody makes a snapshot and disturbs no one", async () => {
    const push = vi.fn(async () => undefined);
    const { pusher } = start({ clients: () => [{ push }] });
    pusher.trigger("config", NO_CHANGES);
    await vi.advanceTimersByTimeAsync(500);
    expect(pusher.pushes).toBe(2);
    expect(push).not.toHaveBeenCalled();
  });

  test("every client is pushed to, one that fails does not stop the others", async () => {
    const pushed: string[] = [];
    const client = (name: string, failure?: Error) => ({
      push: async () => {
        pushed.push(name);
        if (failure !== undefined) throw failure;
      },
    });
    const { pusher, log } = start({ clients: () => [client("a", new Error("gone")), client("b")] });
    pusher.trigger("service", SERVICES);
    await vi.advanceTimersByTimeAsync(200);
    await vi.waitFor(() => expect(pushed).toEqual(["a", "b"]));
    expect(log.text()).toContain("push failed");
    await pusher.stop();
  });
});
