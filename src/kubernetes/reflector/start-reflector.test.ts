import fc from "fast-check";
import { expect, test } from "vitest";
import { startModelApiServer } from "../../../test/support/kubernetes/model-api-server.ts";
import { reflectThings } from "../../../test/support/kubernetes/reflect.ts";
import { type ScriptedRequest, startScriptedApiServer } from "../../../test/support/kubernetes/scripted-api-server.ts";
import { until } from "../../../test/support/wait/until.ts";
import { CloseStack } from "../../base/close-stack.ts";

const thing = (name: string, version: number, value: number, more: object = {}) => ({
  metadata: { name, namespace: "default", resourceVersion: String(version) },
  value,
  ...more,
});
const bookmark = (version: number, isEnd = false) => ({
  type: "BOOKMARK",
  object: {
    metadata: {
      resourceVersion: String(version),
      ...(isEnd && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  },
});
const isStreamed = (request: ScriptedRequest) => request.query.get("sendInitialEvents") === "true";
const isWatch = (request: ScriptedRequest) => request.query.get("watch") === "true";

/** A server that streams these objects first and lets the test say what the later watches do. */
async function serve(
  opened: CloseStack,
  objects: readonly object[],
  later: (request: ScriptedRequest, count: number) => void,
  onStream: (stream: ReturnType<ScriptedRequest["stream"]>) => void = (stream) => stream.end(),
) {
  let count = 0;
  return opened.add(
    await startScriptedApiServer((request) => {
      if (!isStreamed(request)) {
        count += 1;
        return later(request, count);
      }
      const stream = request.stream();
      for (const object of objects) stream.send({ type: "ADDED", object });
      stream.send(bookmark(10, true));
      onStream(stream);
    }),
  );
}

test("everything comes as a stream first, then the watch goes on from the bookmark's version", async () => {
  await using opened = new CloseStack();
  const server = await serve(opened, [thing("a", 3, 1)], (request) => {
    const stream = request.stream();
    stream.send({ type: "MODIFIED", object: thing("a", 11, 2) });
  });
  const reflector = reflectThings(opened, server.access);
  await until("the change came", () => reflector.content()["default/a"] === 2);
  expect(reflector.changes).toEqual(["default/a - > 1", "default/a 1 > 2"]);
  const [first, second] = server.asked;
  expect(first).toMatch(/allowWatchBookmarks=true&resourceVersion=&timeoutSeconds=\d+&sendInitialEvents=true/);
  expect(second).toMatch(/^GET .*allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=\d+$/);
  const seconds = server.asked.map((line) => Number(/timeoutSeconds=(\d+)/.exec(line)?.[1]));
  for (const each of seconds) expect(each).toSatisfy((value: number) => value >= 300 && value <= 600);
});

test("versions are those of what is held, also of a change that says the same, and of nothing else", async () => {
  await using opened = new CloseStack();
  const objects = [thing("a", 3, 1), thing("b", 4, 1), { metadata: { name: "c", resourceVersion: "5" } }];
  const server = await serve(opened, objects, (request) => {
    const stream = request.stream();
    stream.send({ type: "MODIFIED", object: thing("a", 11, 1) });
    stream.send({ type: "DELETED", object: thing("b", 12, 1) });
    stream.send({ type: "ADDED", object: thing("d", 13, 1) });
  });
  const reflector = reflectThings(opened, server.access);
  await until("the last change came", () => reflector.content()["default/d"] === 1);
  expect(reflector.changes).not.toContain("default/a 1 > 1");
  expect(Object.fromEntries(reflector.versions)).toEqual({ "default/a": "11", "default/d": "13" });
});

test("a server without streamed lists is listed in pages, from its memory at first", async () => {
  await using opened = new CloseStack();
  const server = opened.add(await startModelApiServer({ streamsLists: false, pageSize: 2 }));
  for (const name of ["a", "b", "c", "d", "e"]) server.put(name, 1);
  const reflector = reflectThings(opened, server.access);
  await reflector.synced;
  expect(reflector.size).toBe(5);
  expect(server.asked.slice(0, 2)).toEqual([
    expect.stringContaining("sendInitialEvents=true"),
    "GET /apis/test.example/v1/things?resourceVersion=0&limit=500",
  ]);
  server.compact();
  server.endWatches("cut");
  server.put("f", 1);
  server.compact();
  await until("all pages were read again", () => reflector.size === 6);
  expect(server.asked.filter((line) => line.includes("continue="))).toHaveLength(2);
});

test("an event of a megabyte that comes in pieces, split anywhere, is one event", async () => {
  await using opened = new CloseStack();
  const line = Buffer.from(
    `${JSON.stringify({ type: "MODIFIED", object: thing("a", 11, 2, { text: "é€".repeat(200_000) }) })}\n`,
  );
  const server = await serve(opened, [thing("a", 3, 1)], async (request) => {
    const stream = request.stream();
    for (let at = 0; at < line.length; at += 7919) {
      stream.write(line.subarray(at, at + 7919));
      if (at % 13 === 0) await new Promise(setImmediate);
    }
  });
  const reflector = reflectThings(opened, server.access);
  await until("the change came", () => reflector.content()["default/a"] === 2);
  expect(reflector.metrics.render()).not.toContain("failures_total{");
});

test.each([
  { what: "a line that is not JSON", line: '{"type":"ADDED","object":{"metadata"' },
  { what: "an event of an unknown type", line: JSON.stringify({ type: "RENAMED", object: thing("a", 11, 1) }) },
  { what: "an event without an object", line: JSON.stringify({ type: "ADDED" }) },
])("$what costs a list, is counted, and loses nothing", async ({ line }) => {
  await using opened = new CloseStack();
  let streams = 0;
  const server = await serve(
    opened,
    [thing("a", 3, 1)],
    (request) => void request.stream(),
    (stream) => {
      streams += 1;
      if (streams === 1) stream.write(`${line}\n`);
    },
  );
  const reflector = reflectThings(opened, server.access);
  await until("everything was read again", () => streams === 2 && reflector.freshness().problem === undefined);
  expect(server.asked.at(-1)).toContain("resourceVersion=10&");
  expect(reflector.metrics.render()).toContain('code="bad-answer"} 1');
  expect(reflector.changes).toEqual(["default/a - > 1"]);
});

test.each([
  { what: "an expired version", status: { code: 410, reason: "Expired" } },
  {
    what: "a version that the server has not reached",
    status: { code: 504, reason: "Timeout", details: { causes: [{ reason: "ResourceVersionTooLarge" }] } },
  },
])("$what, as an answer or as an event, makes it read what is stored now", async ({ status }) => {
  await using opened = new CloseStack();
  const body = { kind: "Status", message: "no", ...status };
  const server = await serve(opened, [thing("a", 3, 1)], (request, count) => {
    if (count === 1) return request.answer(status.code, body);
    request.stream().send({ type: "ERROR", object: body });
  });
  reflectThings(opened, server.access);
  await until("read three times", () => server.asked.filter((line) => line.includes("sendInitial")).length >= 3);
  const lists = server.asked.filter((line) => line.includes("sendInitial"));
  for (const line of lists) expect(line).toContain("resourceVersion=&");
});

test("an overloaded server is waited for as long as it says, without a list", async () => {
  await using opened = new CloseStack();
  const times: number[] = [];
  const server = await serve(opened, [thing("a", 3, 1)], (request, count) => {
    times.push(performance.now());
    if (count === 1) return request.answer(429, { kind: "Status", code: 429 }, { "retry-after": "1" });
    if (!isWatch(request)) return request.answer(200, { metadata: { resourceVersion: "10" }, items: [] });
    request.stream().send({ type: "MODIFIED", object: thing("a", 11, 2) });
  });
  const reflector = reflectThings(opened, server.access);
  await until("the change came", () => reflector.content()["default/a"] === 2);
  expect(server.asked.filter((line) => line.includes("sendInitial"))).toHaveLength(1);
  // The client's wait lies between the two; a machine that stands still only adds to it.
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
});

test("a kind that may not be read is tried again, and the log names verb and resource once", async () => {
  await using opened = new CloseStack();
  let isAllowed = false;
  const server = opened.add(
    await startScriptedApiServer((request) => {
      if (!isAllowed) return request.answer(403, { kind: "Status", code: 403, message: "things is forbidden" });
      const stream = request.stream();
      stream.send(bookmark(5, true));
    }),
  );
  const reflector = reflectThings(opened, server.access);
  await until("tried again", () => server.asked.length > 3);
  isAllowed = true;
  await reflector.synced;
  const warnings = reflector.log.lines.filter(({ level }) => level === "warn");
  expect(warnings.map(({ fields }) => fields.error)).toEqual([
    "cannot watch things.test.example: 403: things is forbidden",
  ]);
});

test("a server whose bookmark is older than what was seen has been restored, and is read again", async () => {
  await using opened = new CloseStack();
  let streams = 0;
  const server = await serve(
    opened,
    [thing("a", 3, 1)],
    (request) => void request.stream(),
    (stream) => {
      streams += 1;
      if (streams === 1) stream.send(bookmark(7));
    },
  );
  const reflector = reflectThings(opened, server.access);
  await until("read again", () => streams === 2);
  expect(reflector.log.text()).toContain("went back from version 10 to 7");
  expect(server.asked.at(-1)).toContain("resourceVersion=&");
});

test("events that the server lost are found by a comparison, repaired and counted", async () => {
  await using opened = new CloseStack();
  const server = opened.add(await startModelApiServer({ streamsLists: true }));
  for (const name of ["a", "b", "c"]) server.put(name, 1);
  const reflector = reflectThings(opened, server.access);
  await reflector.synced;
  server.loseEvents(() => {
    server.put("a", 2);
    server.delete("b");
    server.put("d", 1);
  });
  server.bookmark();
  const proved = reflector.freshness().provedAt ?? 0;
  expect(await reflector.compareWithServer()).toEqual({ missing: 1, outdated: 1, leftOver: 1, isComplete: true });
  expect(reflector.content()).toEqual(server.content());
  expect(await reflector.compareWithServer()).toEqual({ missing: 0, outdated: 0, leftOver: 0, isComplete: true });
  expect(reflector.freshness().provedAt).toBeGreaterThanOrEqual(proved);
  expect(reflector.metrics.render()).toContain('kind="leftOver"} 1');
});

test("a reflector that is stopped before its sync leaves nothing open and says so", async () => {
  await using opened = new CloseStack();
  const server = opened.add(await startScriptedApiServer((request) => void request.stream()));
  const reflector = reflectThings(opened, server.access);
  await until("asked", () => server.asked.length === 1);
  await Promise.all([reflector.stop(), reflector.stop()]);
  await expect(reflector.synced).rejects.toMatchObject({ code: "cancelled" });
});

const names = fc.constantFrom("a", "b", "c", "d");
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant("put"), name: names, value: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("delete"), name: names }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom("clean", "cut", "garbage", "compact", "bookmark") }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom("backup", "restore", "pause", "pause") }) },
) as fc.Arbitrary<{ act: string; name?: string; value?: number }>;

test("after any faults of objects, watches and server, the copy ends as a fresh list", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, streamsLists) => {
      await using opened = new CloseStack();
      const server = opened.add(await startModelApiServer({ streamsLists, pageSize: 2 }));
      server.put("a", 1);
      const reflector = reflectThings(opened, server.access, 20);
      let backup = server.backup();
      for (const { act, name = "", value = 0 } of steps) {
        if (act === "put") server.put(name, value);
        else if (act === "delete") server.delete(name);
        else if (act === "compact") server.compact();
        else if (act === "bookmark") server.bookmark();
        else if (act === "backup") backup = server.backup();
        else if (act === "restore") server.restore(backup);
        else if (act === "pause") await until("equal", () => expect(reflector.content()).toEqual(server.content()));
        else server.endWatches(act as "clean" | "cut" | "garbage");
        if (value % 2 === 1) await new Promise(setImmediate);
      }
      await reflector.synced;
      await until("equal", () => expect(reflector.content()).toEqual(server.content()));
      expect(replay(reflector.changes)).toEqual(server.content());
    }),
    { numRuns: 60 },
  );
}, 120_000);

/** What is left when each change is applied to what was there; its "before" has to be that. */
function replay(changes: readonly string[]): Record<string, number> {
  const content = new Map<string, number>();
  for (const change of changes) {
    const [key = "", before = "", , after = ""] = change.split(" ");
    expect(before).toBe(String(content.get(key) ?? "-"));
    if (after === "-") content.delete(key);
    else content.set(key, Number(after));
  }
  return Object.fromEntries([...content].toSorted());
}
