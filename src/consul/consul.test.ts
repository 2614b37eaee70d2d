import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { until } from "../../test/support/wait/until.ts";
import { silentLogger } from "../base/logger.ts";
import { toInstance } from "./consul-types.ts";
import { createConsulClient } from "./create-consul-client.ts";
import { nextIndex, startBlockingQuery } from "./start-blocking-query.ts";

const { signal } = new AbortController();

test.each([
  { before: 0, answered: 7, next: 7, rule: "the first index is taken" },
  { before: 7, answered: 9, next: 9, rule: "a later one as well" },
  { before: 9, answered: 3, next: 0, rule: "one that went backwards starts over" },
  { before: 0, answered: 0, next: 1, rule: "0 would not wait and counts as 1" },
])("$rule", ({ before, answered, next }) => {
  expect(nextIndex(before, answered)).toBe(next);
});

describe("an instance", () => {
  const entry = {
    Node: { Node: "n", Address: "10.0.0.9", Datacenter: "dc1" },
    Service: { ID: "a", Service: "web", Port: 80, Weights: { Passing: 5, Warning: 2 } },
  };
  test.each([
    { checks: [], health: "passing", weight: 5 },
    { checks: ["passing", "warning"], health: "warning", weight: 2 },
    { checks: ["warning", "critical"], health: "critical", weight: 5 },
    { checks: ["maintenance"], health: "critical", weight: 5 },
  ])("with checks $checks is $health", ({ checks, ...expected }) => {
    expect(toInstance({ ...entry, Checks: checks.map((Status) => ({ Status })) }, "")).toMatchObject(expected);
  });

  test("without an address of its own is at its node's", () => {
    expect(toInstance(entry, "")?.address).toBe("10.0.0.9");
    expect(toInstance({ ...entry, Service: { ...entry.Service, Address: "10.1.1.1" } }, "")?.address).toBe("10.1.1.1");
  });

  test("of Consul's own mesh is not one", () => {
    expect(toInstance({ ...entry, Service: { ...entry.Service, Kind: "connect-proxy" } }, "")).toBeUndefined();
  });
});

describe("the client", () => {
  test("sends token, datacenter, namespace and index, and returns the index of the answer", async () => {
    const seen: string[] = [];
    await using server = await startHttpServer((request, response) => {
      seen.push(`${request.url} ${request.headers["x-consul-token"]}`);
      response.setHeader("x-consul-index", "42").end("{}");
    });
    const client = createConsulClient({
      url: server.url,
      token: async () => "secret",
      datacenter: "dc2",
      namespace: "team",
    });
    const answer = await client.get("/v1/catalog/services", { index: 7, waitMs: 1000, signal });
    client.close();
    expect(answer).toMatchObject({ body: {}, index: 42 });
    expect(seen).toEqual(["/v1/catalog/services?dc=dc2&ns=team&index=7&wait=1000ms secret"]);
  });

  test.each([
    { status: 403, body: "Permission denied", code: "denied", says: "answers 403 to /v1/x: Permission denied" },
    { status: 500, body: "No cluster leader", code: "refused", says: "answers 500 to /v1/x: No cluster leader" },
    { status: 200, body: "<html>", code: "malformed", says: "answer to /v1/x is not JSON" },
  ])("rejects $status $body as $code", async ({ status, body, code, says }) => {
    await using server = await startHttpServer((_, response) => void response.writeHead(status).end(body));
    const client = createConsulClient({ url: server.url });
    await expect(client.get("/v1/x", { signal })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(says),
    });
    client.close();
  });

  test("names the server that cannot be reached", async () => {
    const server = await startHttpServer(() => undefined);
    await server[Symbol.asyncDispose]();
    const client = createConsulClient({ url: server.url });
    const failure = client.get("/v1/x", { signal });
    await expect(failure).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("localhost:"),
    });
    client.close();
  });
});

describe("a blocking query", () => {
  const follow = async (listener: RequestListener, onAnswer: (body: unknown) => void, log = silentLogger) => {
    const server = await startHttpServer(listener);
    const client = createConsulClient({ url: server.url });
    const query = startBlockingQuery({ client, path: "/v1/x", log, onAnswer });
    return {
      query,
      async [Symbol.asyncDispose]() {
        await query.stop();
        client.close();
        await server[Symbol.asyncDispose]();
      },
    };
  };

  test("asks with the index it has, says nothing of an answer without change, and starts over from an index that fell", async () => {
    const script = [
      { index: 10, body: '"a"' },
      { index: 10, body: '"a"' },
      { index: 12, body: '"b"' },
      { index: 3, body: '"old"' },
      { index: 3, body: '"restored"' },
    ];
    const asked: (string | null)[] = [];
    const answers: unknown[] = [];
    await using _ = await follow(
      (request, response) => {
        asked.push(new URL(request.url ?? "", "http://x").searchParams.get("index"));
        const next = script.shift();
        // The last question stays open, as with a server where nothing changes.
        if (next !== undefined) response.setHeader("x-consul-index", next.index).end(next.body);
      },
      (body) => answers.push(body),
    );
    await until(() => expect(asked).toHaveLength(6));
    expect(asked).toEqual([null, "10", "10", "12", null, "3"]);
    expect(answers).toEqual(["a", "b", "old", "restored"]);
  });

  test("goes on after failures, says so once, and starts over from index 0", async () => {
    const asked: (string | null)[] = [];
    const answers: unknown[] = [];
    const log = recordLog();
    await using setup = await follow(
      (request, response) => {
        asked.push(new URL(request.url ?? "", "http://x").searchParams.get("index"));
        if (asked.length === 1) response.setHeader("x-consul-index", 5).end('"first"');
        else if (asked.length < 4) response.writeHead(500).end("No cluster leader");
        else if (asked.length === 4) response.setHeader("x-consul-index", 6).end('"second"');
      },
      (body) => answers.push(body),
      log,
    );
    await until(() => expect(answers).toEqual(["first", "second"]));
    expect(asked.slice(0, 4)).toEqual([null, "5", null, null]);
    expect(log.texts()).toEqual(["warn Consul cannot be read, the last state stays"]);
    expect(setup.query.answeredAt()).toBeGreaterThan(0);
  });
});
