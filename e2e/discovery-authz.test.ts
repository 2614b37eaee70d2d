import { createSign, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { destinationRule, documents, guardedService, hostOf, ruleObject } from "../test/support/discovery/rules.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const SERVER = "10.10.2.1";
const VIP = "10.96.0.20";
const DENIED = { status: 403, body: "RBAC: access denied" };

const services = guardedService(SERVER, VIP);
/** A proxy's connection keeps the rules under which it was opened until it drains, so that each request gets its own. */
const unpooled = destinationRule("server", {
  trafficPolicy: { connectionPool: { http: { maxRequestsPerConnection: 1 } } },
});
const selector = { matchLabels: { app: "server" } };
const authorization = (name: string, spec: object) =>
  ruleObject("security.istio.io/v1", "AuthorizationPolicy", name, { selector, ...spec });
const principals = ["cluster.local/ns/default/sa/shop"];

/** Envoy tells of a listener a moment before its workers have it. */

const started = sharedPlace(NEEDS, async (opened) => {
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": documents(services, unpooled) },
      workloads: [
        { name: "server", address: SERVER, labels: { app: "server" } },
        { name: "shop", address: "10.10.1.1" },
        { name: "other", address: "10.10.1.2" },
        { name: "stranger", address: "10.10.1.3", hasSidecar: false },
      ],
    }),
  );
  await mesh.workload("server").listen({ kind: "http", port: 9002, name: "app" });
  await mesh.workload("server").listen({ kind: "tcp", port: 9001, name: "app" });
  return mesh;
});

/** Puts rules in force instead of those before and waits until the server's Envoy has a new listener. */
async function apply(...rules: readonly string[]): Promise<void> {
  const before = await virtualInbound();
  started().controlPlane.write("policy.yaml", documents(...rules));
  await until(async () => ((await virtualInbound()) === before ? "the rules have not arrived" : undefined));
}

/** With its filters: Envoy keeps the version of a listener of which only filter chains change. */
async function virtualInbound(): Promise<string> {
  const dump = JSON.parse(await started().workload("server").admin("/config_dump?resource=dynamic_listeners")) as {
    readonly configs: readonly { readonly name: string; readonly active_state?: object }[];
  };
  return JSON.stringify(dump.configs.find(({ name }) => name === "virtualInbound")?.active_state);
}

/** A fresh connection, so that no chain of the listener before answers. */
async function get(from: string, path = "/", headers: Readonly<Record<string, string>> = {}) {
  const isOutside = from === "stranger";
  const [address, port] = isOutside ? [SERVER, 9002] : [VIP, 80];
  const call = { address, port, host: hostOf("server"), path, headers, fresh: true };
  const [answer] = await started().workload(from).http(call);
  return { status: answer?.status, body: answer?.status === 200 ? "" : answer?.body };
}

const tcp = (from: string) =>
  started()
    .workload(from)
    .tcp({ address: from === "stranger" ? SERVER : VIP, port: 9001, send: "hello" });

describe("who may call", () => {
  test("an allowed identity gets through, every other gets a 403", async () => {
    await apply(authorization("callers", { rules: [{ from: [{ source: { principals } }] }] }));
    await until(async () => ((await get("shop")).status === 200 ? undefined : "the shop is not let in"));
    await expect.poll(() => get("other")).toEqual(DENIED);
    expect(await get("stranger")).toEqual(DENIED);
  });

  test("without HTTP the connection of everybody else is closed", async () => {
    expect(await tcp("shop")).toMatchObject({ received: "app hello" });
    expect(await tcp("other")).toMatchObject({ received: "", closed: true });
    expect(await tcp("stranger")).toMatchObject({ received: "", closed: true });
  });

  test("a denied path is denied to the allowed as well, and every connection that could carry it", async () => {
    const denied = { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin*", "/of/{*}/secret"] } }] }] };
    await apply(
      authorization("callers", { rules: [{ from: [{ source: { principals } }] }] }),
      authorization("secrets", denied),
    );
    await expect.poll(() => get("shop", "/admin/users")).toEqual(DENIED);
    expect(await get("shop", "/of/alice/secret")).toEqual(DENIED);
    expect(await get("shop", "/of/alice")).toMatchObject({ status: 200 });
    expect(await tcp("shop")).toMatchObject({ received: "", closed: true });
  });

  test("what only an external provider could decide is denied", async () => {
    const asked = { action: "CUSTOM", provider: { name: "opa" }, rules: [{ to: [{ operation: { paths: ["/a"] } }] }] };
    await apply(authorization("external", asked));
    await expect.poll(() => get("shop", "/a")).toEqual(DENIED);
    expect(await get("shop", "/b")).toMatchObject({ status: 200 });
  });

  test("an empty policy denies everyone", async () => {
    await apply(authorization("nobody", {}));
    await expect.poll(() => get("shop")).toEqual(DENIED);
    expect(await tcp("shop")).toMatchObject({ received: "", closed: true });
  });
});

describe("tokens", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwks = JSON.stringify({
    keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", use: "sig", alg: "RS256" }],
  });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const tokenOf = (claims: object) => {
    const text = `${encode({ alg: "RS256", kid: "k", typ: "JWT" })}.${encode({ exp: 4_000_000_000, ...claims })}`;
    const signature = createSign("RSA-SHA256").update(text).sign(privateKey, "base64url");
    return { authorization: `Bearer ${text}.${signature}` };
  };
  const authentication = (...jwtRules: readonly object[]) =>
    ruleObject("security.istio.io/v1", "RequestAuthentication", "tokens", { selector, jwtRules });

  test("a bad token is refused, none at all is left to the other rules", async () => {
    await apply(authentication({ issuer: "https://login.example", jwks }));
    const good = tokenOf({ iss: "https://login.example", sub: "alice" });
    await expect.poll(() => get("shop", "/", good)).toMatchObject({ status: 200 });
    expect(await get("shop")).toMatchObject({ status: 200 });
    expect(await get("shop", "/", { authorization: `${good.authorization.slice(0, -8)}AAAAAAAA` })).toMatchObject({
      status: 401,
    });
    expect(await get("shop", "/", tokenOf({ iss: "https://else.example", sub: "alice" }))).toMatchObject({
      status: 401,
    });
  });

  test("rules about tokens hold: principal, claim in a list, claim of several words", async () => {
    await apply(
      authentication({ issuer: "https://login.example", jwks }, { issuer: "partner", jwks }),
      authorization("people", {
        rules: [
          { from: [{ source: { requestPrincipals: ["https://login.example/alice"] } }] },
          {
            from: [{ source: { requestPrincipals: ["part*"] } }],
            when: [
              { key: "request.auth.claims[groups]", values: ["ops-*"] },
              { key: "request.auth.claims[scope]", values: ["read"] },
            ],
          },
        ],
      }),
    );
    const status = async (claims: object) => (await get("shop", "/", tokenOf(claims))).status;
    await expect.poll(() => get("shop")).toEqual(DENIED);
    expect(await status({ iss: "https://login.example", sub: "alice" })).toBe(200);
    expect(await status({ iss: "https://login.example", sub: "bob" })).toBe(403);
    expect(await status({ iss: "partner", sub: "bob", groups: ["x", "ops-1"], scope: "write read" })).toBe(200);
    expect(await status({ iss: "partner", sub: "bob", groups: ["x"], scope: "write read" })).toBe(403);
    expect(await status({ iss: "partner", sub: "bob", groups: ["ops-1"], scope: "write" })).toBe(403);
  });

  describe("whose keys are somewhere else", () => {
    const KEYS_PORT = 9100;
    const origin = `http://10.10.1.3:${KEYS_PORT}`;
    const forged = (claims: object) => {
      const [head, body] = tokenOf(claims).authorization.split(".");
      const { privateKey: other } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const text = `${head?.replace("Bearer ", "")}.${body}`;
      return { authorization: `Bearer ${text}.${createSign("RSA-SHA256").update(text).sign(other, "base64url")}` };
    };

    test("pass when a key signed them that is served over HTTP", async () => {
      const keys = started().workload("stranger");
      await keys.listen({ kind: "http", port: KEYS_PORT, name: "keys" });
      await keys.behave({ port: KEYS_PORT, body: jwks });
      await apply(authentication({ issuer: "https://login.example", jwksUri: `${origin}/certs` }));
      const alice = { iss: "https://login.example", sub: "alice" };
      await expect.poll(() => get("shop", "/", tokenOf(alice))).toMatchObject({ status: 200 });
      expect(await get("shop", "/", forged(alice))).toMatchObject({ status: 401 });
      expect(await get("shop")).toMatchObject({ status: 200 });
      expect(await keys.seen(KEYS_PORT, true)).toEqual(["GET /certs"]);
    });

    test("pass when the issuer's own document says where its keys are", async () => {
      const keys = started().workload("stranger");
      // One text is both the document and the key set.
      const body = JSON.stringify({ ...(JSON.parse(jwks) as object), jwks_uri: `${origin}/found` });
      await keys.behave({ port: KEYS_PORT, body });
      await apply(authentication({ issuer: origin }));
      await expect.poll(() => get("shop", "/", tokenOf({ iss: origin, sub: "a" }))).toMatchObject({ status: 200 });
      expect(await get("shop", "/", forged({ iss: origin, sub: "a" }))).toMatchObject({ status: 401 });
      expect(await keys.seen(KEYS_PORT)).toEqual(["GET /.well-known/openid-configuration", "GET /found"]);
    });

    test("are refused while the keys cannot be had, and pass as soon as they can", async () => {
      const keys = started().workload("stranger");
      await keys.behave({ port: KEYS_PORT, status: 500 });
      await apply(authentication({ issuer: "https://login.example", jwksUri: `${origin}/late` }));
      const token = tokenOf({ iss: "https://login.example", sub: "alice" });
      await expect.poll(() => get("shop", "/", token)).toMatchObject({ status: 401 });
      expect(await get("shop")).toMatchObject({ status: 200 });
      const { controlPlane } = started();
      expect(controlPlane.output()).toMatch(
        /keys for tokens cannot be fetched, all tokens are rejected.*RequestAuthentication default\/tokens.*status 500/,
      );
      await keys.behave({ port: KEYS_PORT, body: jwks });
      await expect.poll(() => get("shop", "/", token)).toMatchObject({ status: 200 });
      expect(controlPlane.output()).toContain("keys for tokens were fetched after all");
    });
  });
});

test("no Envoy refused anything", async () => {
  expect(await started().rejections()).toEqual([]);
  for (const name of ["server", "shop", "other"]) expect(await started().workload(name).rejections(), name).toEqual([]);
});
