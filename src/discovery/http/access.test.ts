import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import type { Authenticator } from "../../ca/authenticators/authenticator.ts";
import { type Caller, identifyCaller, isOfNamespace, requireCaller } from "./access.ts";

const WEB = "spiffe://cluster.local/ns/default/sa/web";
const TOKENS: Authenticator = {
  name: "token",
  authenticate: async ({ metadata }) => {
    if (metadata.get("authorization") !== "Bearer good") throw new Error("no such token");
    return { identities: [WEB], source: "token" };
  },
};

function identify(peerAddress: string, headers: Readonly<Record<string, string>> = {}): Promise<Caller | undefined> {
  return identifyCaller({ peerAddress, headers }, { authenticators: () => [TOKENS], log: recordLog() });
}

describe("a program on this machine", () => {
  test.each([
    { from: "127.0.0.1", host: "localhost:8080" },
    { from: "127.0.0.1", host: "127.0.0.1" },
    { from: "127.9.9.9", host: "LOCALHOST" },
    { from: "::1", host: "[::1]:8080" },
    { from: "::ffff:127.0.0.1", host: "[::ffff:127.0.0.1]:15014" },
    { from: "127.0.0.1", host: undefined },
  ])("from $from asking for $host needs no token", async ({ from, host }) => {
    expect(await identify(from, host === undefined ? {} : { host })).toEqual({ kind: "local" });
  });

  test.each(["rebound.example", "localhost.example", "127.0.0.1.example:8080", "[::1].example", "10.0.0.1", ""])(
    "asking for %s may be a page in a browser, and is a stranger",
    async (host) => {
      expect(await identify("127.0.0.1", { host })).toBeUndefined();
    },
  );
});

describe("a page in a browser on this machine", () => {
  test.each(["http://evil.example", "https://localhost:8080", "http://localhost", "http://127.0.0.1:3000", "null", ""])(
    "of %s is a stranger: it may not send rules here",
    async (origin) => {
      expect(await identify("127.0.0.1", { host: "localhost:8080", origin })).toBeUndefined();
      const authorization = "Bearer good";
      expect(await identify("127.0.0.1", { host: "localhost:8080", origin, authorization })).toBeDefined();
    },
  );

  test.each(["cross-site", "same-site"])(
    "that asks with a link or an image of a %s page is a stranger",
    async (site) => {
      expect(await identify("127.0.0.1", { host: "localhost:8080", "sec-fetch-site": site })).toBeUndefined();
    },
  );

  test("is local to the server that it is from", async () => {
    const caller = await identify("127.0.0.1", { host: "localhost:8080", origin: "http://localhost:8080" });
    expect(caller).toEqual({ kind: "local" });
  });
});

describe("a caller on another machine", () => {
  test.each(["10.0.0.7", "2001:db8::7", "::ffff:10.0.0.7", "128.0.0.1", "::2", ""])(
    "from %s is a stranger, also when it asks for localhost",
    async (from) => {
      expect(await identify(from, { host: "localhost" })).toBeUndefined();
    },
  );

  test("is whom a token proves", async () => {
    const caller = await identify("10.0.0.7", { authorization: "Bearer good" });
    expect(caller).toEqual({ kind: "identified", identities: [WEB] });
  });

  test.each(["Bearer bad", "", "Bearer \u00ff\u00e9", "\u0000"])(
    "with the token %j is a stranger",
    async (authorization) => {
      expect(await identify("10.0.0.7", { authorization })).toBeUndefined();
    },
  );
});

test.each([
  { from: "127.0.0.1", headers: { host: "rebound.example" }, status: 403, says: 'Host is "rebound.example"' },
  {
    from: "127.0.0.1",
    headers: { origin: "http://evil.example" },
    status: 403,
    says: 'Origin is "http://evil.example"',
  },
  { from: "127.0.0.1", headers: { "sec-fetch-site": "cross-site" }, status: 403, says: "Sec-Fetch-Site" },
  { from: "10.0.0.7", headers: { host: "rebound.example" }, status: 401, says: "needs a token" },
])("a stranger from $from with $headers gets $status: $says", async ({ from, headers, status, says }) => {
  const call = { peerAddress: from, headers: headers as Readonly<Record<string, string>> };
  const required = requireCaller(call, { authenticators: () => [TOKENS], log: recordLog() });
  await expect(required).rejects.toMatchObject({ status, message: expect.stringContaining(says) });
});

test.each<{ who: string; caller: Caller; namespace: string; is: boolean }>([
  { who: "a local program", caller: { kind: "local" }, namespace: "any", is: true },
  { who: "the workload", caller: { kind: "identified", identities: [WEB] }, namespace: "default", is: true },
  { who: "the workload", caller: { kind: "identified", identities: [WEB] }, namespace: "defaul", is: false },
  { who: "one of several", caller: { kind: "identified", identities: ["x", WEB] }, namespace: "default", is: true },
  {
    who: "a caller without identities",
    caller: { kind: "identified", identities: [] },
    namespace: "default",
    is: false,
  },
])("$who is of namespace $namespace: $is", ({ caller, namespace, is }) => {
  expect(isOfNamespace(caller, namespace)).toBe(is);
});
