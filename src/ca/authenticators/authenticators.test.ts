import "../../../test/support/no-open-handles.ts";
import { X509Certificate } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makeCertificate } from "../../../test/support/certs/certificates.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { Metadata } from "../../grpc/metadata.ts";
import type { Peer } from "../../grpc/server/peer.ts";
import {
  AuthenticationError,
  type Authenticator,
  authenticate,
  bearerToken,
  clientCertificateAuthenticator,
} from "./authenticator.ts";
import { discoverKeysUri, inlineKeys, remoteKeys } from "./key-source.ts";

const opened = new CloseStack();
afterEach(() => opened.close());
const { signal } = new AbortController();

describe("the bearer token", () => {
  test.each([
    { values: ["Bearer t"], token: "t" },
    { values: ["Basic x", "Bearer t", "Bearer u"], token: "t" },
  ])("of $values is $token", ({ values, token }) => {
    expect(bearerToken(Metadata.from({ authorization: values }))).toBe(token);
  });

  test.each([[], ["bearer t"], ["t"]])("of %j is missing", (...values) => {
    expect(() => bearerToken(Metadata.from({ authorization: values }))).toThrow(AuthenticationError);
  });
});

describe("a client certificate", () => {
  const peer = (tls: Peer["tls"]): Peer => ({ address: "127.0.0.1:1", tls });
  const base = { chain: [], serverName: undefined };
  const ask = (tls: Peer["tls"]) =>
    clientCertificateAuthenticator().authenticate({ peer: peer(tls), metadata: new Metadata() }, signal);

  test("gives every name it carries", async () => {
    const { der } = await makeCertificate({ isCa: false, hosts: ["spiffe://td/ns/n/sa/s", "web"] });
    const caller = await ask({ ...base, authorized: true, certificate: new X509Certificate(der) });
    expect(caller.identities).toEqual(["spiffe://td/ns/n/sa/s", "web"]);
  });

  test("that is missing, unverified or nameless is distinguished", async () => {
    const certificate = new X509Certificate((await makeCertificate()).der);
    await expect(ask(undefined)).rejects.toThrow('unsupported auth type: ""');
    await expect(ask({ ...base, authorized: false, certificate: undefined })).rejects.toThrow(
      "no client certificate is presented",
    );
    await expect(ask({ ...base, authorized: false, certificate })).rejects.toThrow("no verified chain is found");
    await expect(ask({ ...base, authorized: true, certificate })).rejects.toThrow("the SAN extension does not exist");
  });
});

describe("several authenticators", () => {
  const request = { peer: { address: "10.0.0.1:5", tls: undefined }, metadata: new Metadata() };
  const refusing: Authenticator = { name: "first", authenticate: () => Promise.reject(new Error("not me")) };
  const empty: Authenticator = { name: "second", authenticate: async () => ({ identities: [], source: "second" }) };
  const granting: Authenticator = {
    name: "third",
    authenticate: async () => ({ identities: ["id"], source: "third" }),
  };

  test("are tried in order until one gives an identity", async () => {
    const log = recordLog();
    const caller = await authenticate([refusing, empty, granting, refusing], request, { signal, log });
    expect(caller).toEqual({ identities: ["id"], source: "third" });
    expect(log.lines).toEqual([]);
  });

  test("that all refuse leave their reasons in the log", async () => {
    const log = recordLog();
    expect(await authenticate([refusing, empty], request, { signal, log })).toBeUndefined();
    expect(log.lines).toMatchObject([
      { level: "error", fields: { peer: "10.0.0.1:5", reasons: "first: not me; second: no identity" } },
    ]);
  });
});

describe("key sources", () => {
  const serve = async (answer: () => { status?: number; body: string }) => {
    let fetches = 0;
    const http = await startHttpServer((_request, response) => {
      fetches += 1;
      const { status = 200, body } = answer();
      response.writeHead(status).end(body);
    });
    opened.add(http);
    return { uri: `${http.url}/keys`, url: http.url, fetches: () => fetches };
  };

  test("inline keys must be a JWKS", () => {
    expect(() => inlineKeys("{}")).toThrow("the inline JWKS is not a JSON object with keys");
  });

  test("a stranger's made-up key names fetch the list at most once per interval", async () => {
    const server = await serve(() => ({ body: '{"keys":[]}' }));
    let now = 0;
    const keys = remoteKeys({ uri: server.uri, now: () => now, minIntervalMs: 1000 });
    await Promise.all([keys.current(signal), keys.current(signal)]);
    await Promise.all(Array.from({ length: 20 }, () => keys.refreshed(signal)));
    expect(server.fetches()).toBe(1);
    now = 1000;
    await Promise.all(Array.from({ length: 20 }, () => keys.refreshed(signal)));
    expect(server.fetches()).toBe(2);
  });

  test("an address that went down is asked at most once per interval, and the keys it gave stay", async () => {
    let answer: { status?: number; body: string } = { body: '{"keys":[]}' };
    const server = await serve(() => answer);
    let now = 0;
    const keys = remoteKeys({ uri: server.uri, now: () => now, minIntervalMs: 1000 });
    const known = await keys.current(signal);
    answer = { status: 503, body: "" };
    now = 1000;
    await expect(keys.refreshed(signal)).rejects.toThrow("answered with status 503");
    for (let stranger = 0; stranger < 20; stranger += 1) expect(await keys.refreshed(signal)).toBe(known);
    expect(server.fetches()).toBe(2);
  });

  test("a wall clock that is set back does not put off the next fetch", async () => {
    const server = await serve(() => ({ body: '{"keys":[]}' }));
    const keys = remoteKeys({ uri: server.uri, minIntervalMs: 0 });
    await keys.current(signal);
    const clock = vi.spyOn(Date, "now").mockReturnValue(0);
    try {
      await keys.refreshed(signal);
    } finally {
      clock.mockRestore();
    }
    expect(server.fetches()).toBe(2);
  });

  test("a list that cannot be had is an error each time, until it can", async () => {
    let answer: { status?: number; body: string } = { status: 503, body: "" };
    const server = await serve(() => answer);
    const keys = remoteKeys({ uri: server.uri });
    await expect(keys.current(signal)).rejects.toThrow("answered with status 503");
    answer = { body: "<html>" };
    await expect(keys.current(signal)).rejects.toThrow("did not answer with a JWKS");
    answer = { body: '{"keys":[]}' };
    expect(await keys.current(signal)).toEqual([]);
    await expect(remoteKeys({ uri: "http://127.0.0.1:1/" }).current(signal)).rejects.toThrow("ECONNREFUSED");
  });

  test.each([
    { document: () => "x", says: "names no issuer, expected" },
    { document: () => "[]", says: "names no issuer" },
    { document: () => "null", says: "names no issuer" },
    { document: (issuer: string) => JSON.stringify({ issuer }), says: "names no jwks_uri" },
    { document: (issuer: string) => JSON.stringify({ issuer, jwks_uri: 1 }), says: "names no jwks_uri" },
    {
      document: (issuer: string) => JSON.stringify({ issuer: `${issuer}/tenant`, jwks_uri: `${issuer}/keys` }),
      says: /names issuer "http.*\/tenant", expected "http/,
    },
    // Identical, not alike: no slash more or less.
    {
      document: (issuer: string) => JSON.stringify({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }),
      says: "names issuer",
    },
  ])("discovery is refused when the document $says", async ({ document, says }) => {
    const server = await serve(() => ({ body: document(server.url) }));
    await expect(discoverKeysUri(server.url, {})).rejects.toThrow(says);
  });

  test.each(["", "/"])("discovery of an issuer that ends with %j finds its keys", async (end) => {
    const server = await serve(() => ({ body: JSON.stringify({ issuer: server.url + end, jwks_uri: server.uri }) }));
    expect(await discoverKeysUri(server.url + end, {})).toBe(server.uri);
  });
});
