import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { recordLog } from "../../../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../../../test/support/net/http-server.ts";
import { until } from "../../../../test/support/wait/until.ts";
import { type Logger, silentLogger } from "../../../base/logger.ts";
import { Secret } from "../../../base/secret.ts";
import { getSecret } from "./kubernetes-api.ts";
import { watchSecrets } from "./watch-secrets.ts";

const object = (name: string, version: string, value = "v") => ({
  metadata: { name, resourceVersion: version },
  data: { tls: Buffer.from(value).toString("base64") },
});

/** An API server whose lists and watches the test plays. */
async function startApi(lists: readonly object[][]) {
  const asked: string[] = [];
  const watches: ServerResponse[] = [];
  let listed = 0;
  const server = await startHttpServer((request, response) => {
    asked.push(`${request.headers.authorization} ${request.url}`);
    if (request.url?.includes("watch=1")) {
      response.writeHead(200).flushHeaders();
      watches.push(response);
      return;
    }
    if (request.url?.endsWith("/missing")) return void response.writeHead(404).end();
    if (request.url?.endsWith("/one")) return void response.end(JSON.stringify(object("one", "1")));
    const items = lists[Math.min(listed, lists.length - 1)] ?? [];
    listed += 1;
    response.end(JSON.stringify({ metadata: { resourceVersion: `list-${listed}` }, items }));
  });
  const access = { apiUrl: `http://127.0.0.1:${server.port}`, token: async () => new Secret("t0k3n") };
  return { asked, watches, access, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function follow(access: Parameters<typeof watchSecrets>[0]["access"], log: Logger = silentLogger, waitMs = 1) {
  const events: string[] = [];
  const watch = watchSecrets({
    access,
    namespace: "gw",
    log,
    backoff: { initialMs: waitMs, maxMs: waitMs, factor: 1, jitter: 0 },
    apply: ({ name, data }) => void events.push(`+${name}=${data.get("tls")?.toString()}`),
    remove: (name) => void events.push(`-${name}`),
  });
  return { events, [Symbol.asyncDispose]: () => watch.stop() };
}

test("the list is applied, then every change the watch tells, with the token sent each time", async () => {
  await using api = await startApi([[object("a", "1"), object("b", "1")]]);
  await using seen = follow(api.access);
  await until(() => expect(api.watches).toHaveLength(1));
  const line = (type: string, secret: object) => `${JSON.stringify({ type, object: secret })}\n`;
  const text =
    line("MODIFIED", object("a", "7", "new")) +
    line("DELETED", object("b", "8")) +
    line("BOOKMARK", { metadata: { resourceVersion: "9" } });
  // Cut in the middle of a line.
  api.watches[0]?.write(text.slice(0, 40));
  api.watches[0]?.write(text.slice(40));
  await until(() => expect(seen.events).toEqual(["+a=v", "+b=v", "+a=new", "-b"]));
  expect(api.asked[0]).toBe("Bearer t0k3n /api/v1/namespaces/gw/secrets");
  expect(api.asked[1]).toContain("resourceVersion=list-1");
});

test("a watch that ends is taken up from the last version", async () => {
  await using api = await startApi([[]]);
  await using _seen = follow(api.access);
  await until(() => expect(api.watches).toHaveLength(1));
  api.watches[0]?.end(`${JSON.stringify({ type: "ADDED", object: object("x", "42") })}\n`);
  await until(() => expect(api.watches).toHaveLength(2));
  expect(api.asked.at(-1)).toContain("resourceVersion=42");
});

test("after a gap the list is read again, and what is gone from it is removed", async () => {
  await using api = await startApi([[object("a", "1"), object("b", "1")], [object("b", "5", "later")]]);
  await using seen = follow(api.access);
  await until(() => expect(api.watches).toHaveLength(1));
  api.watches[0]?.end(`${JSON.stringify({ type: "ERROR", object: { code: 410 } })}\n`);
  await until(() => expect(seen.events).toEqual(["+a=v", "+b=v", "-a", "+b=later"]));
});

test("a single secret is read, a missing one is undefined", async () => {
  await using api = await startApi([[]]);
  const { signal } = new AbortController();
  expect((await getSecret(api.access, "gw", "one", signal))?.data.get("tls")?.toString()).toBe("v");
  expect(await getSecret(api.access, "gw", "missing", signal)).toBeUndefined();
});

test("an API server that is not there is named, the token is not", async () => {
  const access = { apiUrl: "http://127.0.0.1:1", token: async () => new Secret("t0k3n") };
  const failed = getSecret(access, "gw", "one", new AbortController().signal);
  await expect(failed).rejects.toMatchObject({ code: "unreachable", message: expect.stringContaining("127.0.0.1:1") });
  await expect(failed).rejects.not.toThrow("t0k3n");
});

test("watches that end as soon as they begin are not taken up without a pause", async () => {
  let watches = 0;
  await using server = await startHttpServer((request, response) => {
    if (request.url?.includes("watch=1")) watches += 1;
    response.end(request.url?.includes("watch=1") ? "" : '{"items":[]}');
  });
  const access = { apiUrl: `http://127.0.0.1:${server.port}`, token: async () => new Secret("t") };
  await using _seen = follow(access, silentLogger, 60_000);
  await until(() => expect(watches).toBe(2));
  const { signal } = new AbortController();
  for (let round = 0; round < 50; round += 1) await getSecret(access, "gw", "one", signal);
  expect(watches).toBe(2);
});

test.each(['{"type":"ADDED","object":{"data":{"key":"c2VjcmV0LWtleQ==" junk', "null", "[]", "7"])(
  "an event that is not one (%s) is reported without its text, and the watch begins again",
  async (line) => {
    await using api = await startApi([[]]);
    const log = recordLog();
    await using _seen = follow(api.access, log);
    await until(() => expect(api.watches).toHaveLength(1));
    api.watches[0]?.end(`${line}\n`);
    await until(() => expect(api.watches.length).toBeGreaterThan(1));
    expect(log.printed.join()).toContain("watching gateway secrets failed");
    expect(log.printed.join()).not.toMatch(/c2VjcmV0|junk/);
  },
);

test("an answer that is not JSON is reported without a word of it", async () => {
  await using server = await startHttpServer((_request, response) => void response.end('{"data": c2VjcmV0LWtleQ=='));
  const access = { apiUrl: `http://127.0.0.1:${server.port}`, token: async () => new Secret("t") };
  const failed = getSecret(access, "gw", "one", new AbortController().signal);
  await expect(failed).rejects.toMatchObject({ code: "bad-answer", message: expect.not.stringContaining("c2VjcmV0") });
});

test.each(["", "..", ".", "a/b", "A", "-a", "x".repeat(300), "a\nb", "%2e%2e"])(
  "the API server is not asked for %j, which is no name of an object",
  async (name) => {
    await using api = await startApi([[]]);
    expect(await getSecret(api.access, "gw", name, new AbortController().signal)).toBeUndefined();
    expect(api.asked).toEqual([]);
  },
);
