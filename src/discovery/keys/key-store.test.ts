import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { documents } from "../../../test/support/mesh-model/test-objects.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { ConfigObject } from "../../istio-api/config-object.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { type KeyStoreOptions, startKeyStore } from "./key-store.ts";

const keySet = (name: string) => JSON.stringify({ keys: [{ kty: "oct", k: Buffer.from(name).toString("base64url") }] });
const LONG = 60_000;
const SOON = { interval: 5 };

const opened = new CloseStack();
afterEach(() => opened.close());

async function serve(answer: RequestListener): Promise<{ readonly uri: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = await startHttpServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  opened.add(server);
  return { uri: `${server.url}/keys`, asked };
}

/** RequestAuthentication `name` with one rule for each address. */
function object(name: string, ...rules: readonly object[]): ConfigObject<"RequestAuthentication"> {
  const { objects } = parseConfigText(
    documents({
      kind: "RequestAuthentication",
      name,
      spec: { jwtRules: rules.map((rule) => ({ issuer: "i", ...rule })) },
    }),
  );
  return objects[0] as ConfigObject<"RequestAuthentication">;
}

/** Refreshes and attempts follow each other as fast as the test says. */
function start(options: Partial<KeyStoreOptions> = {}) {
  const notices: string[] = [];
  const changes: string[] = [];
  const tell =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void notices.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log: Logger = { ...silentLogger, info: tell("info"), warn: tell("warn") };
  const backoff = { initialMs: 5, maxMs: 20, factor: 2, jitter: 0 };
  const store = startKeyStore({ log, refreshMs: LONG, backoff, ...options });
  store.subscribe((objects) => changes.push(objects.map(({ namespace, name }) => `${namespace}/${name}`).join(" ")));
  opened.defer(() => store.stop());
  return { store, notices, changes };
}

describe("keys that objects ask for", () => {
  test("are fetched once for all of them, and it is reported whose they are", async () => {
    const { uri, asked } = await serve((_, response) => void response.end(keySet("a")));
    const { store, changes, notices } = start();
    store.want([object("one", { jwksUri: uri }, { jwksUri: uri, issuer: "j" }), object("two", { jwksUri: uri })]);
    await store.tried(LONG);
    expect([...store.keys]).toEqual([[`keys ${uri}`, keySet("a")]]);
    store.want([object("one", { jwksUri: uri })]);
    await store.tried(LONG);
    expect(asked).toEqual(["/keys"]);
    expect(changes).toEqual(["default/one default/two"]);
    expect(notices).toEqual([]);
  });

  test("are not fetched for rules that have theirs with them", async () => {
    const { uri, asked } = await serve((_, response) => void response.end(keySet("a")));
    const { store } = start();
    store.want([object("one", { jwksUri: uri, jwks: keySet("b") })]);
    await store.tried(LONG);
    expect([asked, [...store.keys]]).toEqual([[], []]);
  });

  test("are fetched again and again; only others than before are reported", async () => {
    const answers = ["a", "a", "b", "b"];
    const { uri, asked } = await serve((_, response) => void response.end(keySet(answers.shift() ?? "b")));
    const { store, changes } = start({ refreshMs: 5 });
    store.want([object("one", { jwksUri: uri })]);
    await expect.poll(() => asked.length, SOON).toBeGreaterThan(4);
    expect(store.keys.get(`keys ${uri}`)).toBe(keySet("b"));
    expect(changes).toEqual(["default/one", "default/one"]);
  });

  test("are forgotten when no object asks any more, also while they are fetched", async () => {
    const { uri, asked } = await serve((request, response) => {
      if (request.url === "/keys") response.end(keySet("a"));
    });
    const { store } = start({ refreshMs: 5 });
    store.want([object("one", { jwksUri: uri }), object("two", { jwksUri: `${uri}/hangs` })]);
    await expect.poll(() => store.keys.size, SOON).toBe(1);
    await expect.poll(() => asked, SOON).toContain("/keys/hangs");
    store.want([]);
    expect(store.keys.size).toBe(0);
    await store.stop();
    const count = asked.length;
    store.want([]);
    expect(asked).toHaveLength(count);
  });
});

describe("keys that cannot be had", () => {
  test("are reported once with object and reason, tried again, and reported when they come", async () => {
    let failures = 4;
    const { uri, asked } = await serve((_, response) => {
      failures -= 1;
      if (failures < 0) response.end(keySet("a"));
      else response.writeHead(500).end("secret words");
    });
    const { store, notices, changes } = start();
    store.want([object("one", { jwksUri: uri })]);
    await store.tried(LONG);
    expect(store.keys.size).toBe(0);
    await expect.poll(() => store.keys.size, SOON).toBe(1);
    expect(asked).toHaveLength(5);
    expect(notices).toEqual([
      expect.stringMatching(
        /^warn keys for tokens cannot be fetched, all tokens are rejected .*RequestAuthentication default\/one.*status 500/,
      ),
      expect.stringMatching(/^info keys for tokens were fetched after all .*default\/one/),
    ]);
    expect(notices.join()).not.toContain("secret words");
    expect(changes).toEqual(["default/one"]);
  });

  test("leave those that were had before", async () => {
    let isDown = false;
    const { uri, asked } = await serve((_, response) => void (isDown ? response.end("{") : response.end(keySet("a"))));
    const { store, notices, changes } = start({ refreshMs: 5 });
    store.want([object("one", { jwksUri: uri })]);
    await store.tried(LONG);
    isDown = true;
    await expect.poll(() => notices.length, SOON).toBe(1);
    const count = asked.length;
    await expect.poll(() => asked.length, SOON).toBeGreaterThan(count + 2);
    expect(notices).toEqual([
      expect.stringMatching(/^warn keys for tokens cannot be fetched, the last ones stay .*not JSON/),
    ]);
    expect(store.keys.get(`keys ${uri}`)).toBe(keySet("a"));
    isDown = false;
    await expect.poll(() => notices.length, SOON).toBe(2);
    expect(changes).toHaveLength(1);
  });

  test("hold no one up longer than they may", async () => {
    const { uri } = await serve(() => undefined);
    const { store, notices } = start();
    store.want([object("one", { jwksUri: uri, timeout: "30s" })]);
    await store.tried(20);
    expect(notices).toEqual([]);
    await store.stop();
    expect(notices).toEqual([]);
  });

  test.each([
    { rules: [{}], limit: 40, because: "of the store's limit" },
    { rules: [{ timeout: "0.050s" }, { timeout: "0.060s" }], limit: LONG, because: "of the longest limit of a rule" },
  ])("are given up after a time because $because", async ({ rules, limit }) => {
    const { uri } = await serve(() => undefined);
    const { store, notices } = start({ timeoutMs: limit });
    store.want([object("one", ...rules.map((rule) => ({ ...rule, jwksUri: uri })))]);
    await store.tried(LONG);
    expect(notices[0]).toMatch(/no answer within \d+/);
  });
});

test("keys where an issuer says are named by the issuer", async () => {
  const { uri } = await serve((request, response) => {
    const isDocument = request.url?.includes(".well-known");
    response.end(isDocument ? JSON.stringify({ jwks_uri: `http://${request.headers.host}/certs` }) : keySet("a"));
  });
  const issuer = new URL(uri).origin;
  const { store } = start();
  store.want([object("one", { issuer })]);
  await store.tried(LONG);
  expect([...store.keys]).toEqual([[`issuer ${issuer}`, keySet("a")]]);
});
