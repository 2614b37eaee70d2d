import { expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { CodedError } from "../../base/coded-error.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import { startEventWriter } from "./start-event-writer.ts";

class ApiError extends CodedError<"already-exists" | "forbidden"> {}

const WEB = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", namespace: "shop", name: "web" };

/** Events of one namespace, and a clock that the test moves. */
function setUp(create?: () => never) {
  const created = new Map<string, { readonly message: string }>();
  const patches: object[] = [];
  let clock = Date.parse("2026-08-22T20:00:00Z");
  const log = recordLog();
  const api: Pick<ClusterApi, "create" | "patch"> = {
    create: async (_, object) => {
      create?.();
      const event = object as { readonly metadata: { readonly name: string }; readonly message: string };
      if (created.has(event.metadata.name)) throw new ApiError("already-exists", "there is one");
      created.set(event.metadata.name, event);
      return event;
    },
    patch: async (_, name, body) => {
      patches.push(body as object);
      return { metadata: { name } };
    },
  };
  const open = () => startEventWriter({ api, instance: "a", log, now: () => clock });
  return {
    open,
    created,
    patches,
    log,
    pass: (ms: number) => {
      clock += ms;
    },
  };
}

test("the same again counts up one Event, at most once a minute", async () => {
  const { open, created, patches, pass } = setUp();
  const events = open();
  events.warn(WEB, "Invalid", "wrong");
  events.warn(WEB, "Invalid", "wrong");
  pass(61_000);
  events.warn(WEB, "Invalid", "wrong");
  await events.stop();
  expect([...created.values()]).toMatchObject([{ message: "wrong", count: 1, type: "Warning", reason: "Invalid" }]);
  expect(patches).toEqual([{ count: 2, lastTimestamp: "2026-08-22T20:01:01Z" }]);
});

test("another replica, or a later run, finds the Event that is there", async () => {
  const { open, created, patches } = setUp();
  for (const events of [open(), open()]) {
    events.warn(WEB, "Invalid", "wrong");
    await events.stop();
  }
  expect([created.size, patches]).toEqual([1, [{ lastTimestamp: "2026-08-22T20:00:00Z" }]]);
});

test("fifty are written at once, then one each second, and the log says how many were left out", async () => {
  const { open, created, log, pass } = setUp();
  const events = open();
  for (let at = 0; at < 80; at += 1) events.warn(WEB, "Invalid", `wrong ${at}`);
  pass(1000);
  events.warn(WEB, "Invalid", "later");
  await events.stop();
  expect(created.size).toBe(51);
  expect(log.text()).toContain('"leftOut":30');
});

test("who may not write Events is not asked again for minutes, and says so once", async () => {
  const { open, log } = setUp(() => {
    throw new ApiError("forbidden", "cannot create events in namespace shop");
  });
  const events = open();
  events.warn(WEB, "Invalid", "one");
  await events.stop();
  events.warn(WEB, "Invalid", "two");
  await events.stop();
  expect(log.text().match(/Event cannot be written/g)).toHaveLength(1);
});
