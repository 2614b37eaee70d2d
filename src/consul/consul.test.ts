import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { until } from "../../test/support/wait/until.ts";
import { silentLogger } from "../base/logger.ts";
import { toInstance } from "./consul-types.ts";
import { createConsulClient } from "./create-consul-client.ts";
import { nextIndex, startBlockingQuery } from "./start-blocking-query.ts";
import { startCatalogWatch } from "./start-catalog-watch.ts";

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

describe("the catalog watch", () => {
  interface Question {
    readonly path: string;
    answer(index: number, body: unknown): void;
  }

  /** A Consul whose answers the test gives; the first ones of each path are given at once, with an index of the path's own. */
  const startScripted = async (
    first: Readonly<Record<string, unknown>>,
    indexes: Readonly<Record<string, number>> = {},
  ) => {
    const open: Question[] = [];
    const reads: string[] = [];
    const server = await startHttpServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://consul");
      const answer = (index: number, body: unknown) =>
        void response.setHeader("x-consul-index", String(index)).end(JSON.stringify(body));
      if (searchParams.get("index") === null) {
        const isFiltered = searchParams.has("filter");
        reads.push(`${isFiltered ? "index of " : ""}${pathname}`);
        return answer(indexes[pathname] ?? 1, isFiltered ? [] : (first[pathname] ?? []));
      }
      open.push({ path: pathname, answer });
    });
    const changes: string[] = [];
    const client = createConsulClient({ url: server.url });
    const watch = startCatalogWatch({
      client,
      datacenter: "dc1",
      log: silentLogger,
      onChange: (changed) => {
        for (const [name, instances] of changed) changes.push(`${name} ${instances.map(({ address }) => address)}`);
      },
    });
    await watch.synced;
    await until(() => expect(open.length).toBe(3));
    const asked = async (path: string) => {
      await until(() => expect(open.map((question) => question.path)).toContain(path));
      const at = open.findIndex((question) => question.path === path);
      return open.splice(at, 1)[0] as Question;
    };
    return {
      changes,
      reads,
      asked,
      [Symbol.asyncDispose]: async () => {
        await watch.stop();
        client.close();
        await server[Symbol.asyncDispose]();
      },
    };
  };
  const entryAt = (node: string, address: string, own = "") => ({
    Node: { Node: node, Address: address },
    Service: { ID: `web-${node}`, Service: "web", Port: 80, Address: own },
  });

  test("reads the services of a node whose address changed at once", async () => {
    const answers: Record<string, unknown> = {
      "/v1/catalog/services": { web: [], api: [] },
      "/v1/catalog/nodes": [{ Node: "n1", Address: "10.0.0.1" }],
      "/v1/health/service/web": [entryAt("n1", "10.0.0.1")],
    };
    await using consul = await startScripted(answers);
    expect(consul.changes).toEqual(["web 10.0.0.1"]);
    answers["/v1/health/service/web"] = [entryAt("n1", "10.0.0.9")];
    (await consul.asked("/v1/catalog/nodes")).answer(2, [{ Node: "n1", Address: "10.0.0.9" }]);
    await until(() => expect(consul.changes).toEqual(["web 10.0.0.1", "web 10.0.0.9"]));
  });

  test("asks for the index of services that nothing shows as changed, and reads those that have another one", async () => {
    const [web, api] = ["/v1/health/service/web", "/v1/health/service/api"];
    const answers: Record<string, unknown> = {
      "/v1/catalog/services": { web: [], api: [] },
      "/v1/catalog/nodes": [],
      [web]: [entryAt("n1", "10.0.0.1", "10.1.0.1")],
      [api]: [entryAt("n1", "10.0.0.1", "10.2.0.1")],
    };
    const indexes: Record<string, number> = { [web]: 7, [api]: 8 };
    await using consul = await startScripted(answers, indexes);
    consul.reads.length = 0;
    answers[web] = [entryAt("n1", "10.0.0.1", "10.1.0.2")];
    indexes[web] = 9;
    (await consul.asked("/v1/catalog/services")).answer(9, { web: [], api: [] });
    await until(() => expect(consul.changes.at(-1)).toBe("web 10.1.0.2"));
    await until(() => expect(new Set(consul.reads)).toEqual(new Set([`index of ${api}`, `index of ${web}`, web])));
  });

  test("reads everything again after a restore, where an index may mean another state", async () => {
    const web = "/v1/health/service/web";
    const answers: Record<string, unknown> = {
      "/v1/catalog/services": { web: [] },
      "/v1/catalog/nodes": [],
      [web]: [entryAt("n1", "10.0.0.1", "10.1.0.1")],
    };
    await using consul = await startScripted(answers, { "/v1/catalog/services": 20, [web]: 7 });
    answers[web] = [entryAt("n1", "10.0.0.1", "10.1.0.2")];
    (await consul.asked("/v1/catalog/services")).answer(10, { web: [] });
    await until(() => expect(consul.changes.at(-1)).toBe("web 10.1.0.2"));
  });

  test("has a question of its own for a service that changed, so that its next change needs no other sign", async () => {
    const answers: Record<string, unknown> = {
      "/v1/catalog/services": { web: [] },
      "/v1/catalog/nodes": [],
      "/v1/health/service/web": [entryAt("n1", "10.0.0.1", "10.1.0.1")],
    };
    await using consul = await startScripted(answers);
    answers["/v1/health/service/web"] = [entryAt("n1", "10.0.0.1", "10.1.0.2")];
    (await consul.asked("/v1/catalog/services")).answer(2, { web: ["changed"] });
    await until(() => expect(consul.changes).toEqual(["web 10.1.0.1", "web 10.1.0.2"]));
    (await consul.asked("/v1/health/service/web")).answer(3, [entryAt("n1", "10.0.0.1", "10.1.0.3")]);
    await until(() => expect(consul.changes.at(-1)).toBe("web 10.1.0.3"));
    // Gone: nobody asks for it any more.
    (await consul.asked("/v1/health/service/web")).answer(4, []);
    await until(() => expect(consul.changes.at(-1)).toBe("web "));
  });
});
