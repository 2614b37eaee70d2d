import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { askAndClose } from "../support/net/ask-and-close.ts";
import "../support/no-open-handles.ts";
import { CloseStack } from "../../src/base/close-stack.ts";
import { Secret } from "../../src/base/secret.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import { createTokenManager, readProjectNumber } from "../../src/sts/create-token-manager.ts";
import type { GoogleExchangeOptions } from "../../src/sts/google-exchange.ts";
import { type StsServer, startStsServer } from "../../src/sts/start-sts-server.ts";
import { fetchAccessToken, noTokenManager } from "../../src/sts/token-manager.ts";
import { type RecordedLog, recordLog } from "../support/log/recording-log.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { type FakeGoogle, startFakeGoogle } from "../support/sts/google-endpoints.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";
const CLOUD = "https://www.googleapis.com/auth/cloud-platform";
const subject = (name: string) =>
  `e30.${Buffer.from(JSON.stringify({ sub: name, aud: "pool.example" })).toString("base64url")}.sig`;

interface Running {
  readonly sts: StsServer;
  readonly google: FakeGoogle;
  readonly log: RecordedLog;
  exchange(
    fields?: Record<string, string>,
  ): Promise<{ readonly status: number; readonly json: Record<string, unknown> }>;
  status(): Promise<{ readonly token_type: string; readonly token: string }[]>;
}

async function start(
  options: Partial<GoogleExchangeOptions> = {},
  lifetimeSeconds = 3600,
  plugin = "GoogleTokenExchange",
): Promise<Running> {
  const google = await startFakeGoogle(lifetimeSeconds);
  opened.add(google);
  const log = recordLog();
  const manager = createTokenManager(plugin, {
    trustDomain: "cluster.local",
    identityProvider: "https://cluster",
    projectNumber: "1234",
    federatedEndpoint: `${google.url}/v1/token`,
    credentialsUrl: google.url,
    log,
    ...options,
  });
  const sts = opened.add(await startStsServer({ port: 0, manager, log }));
  const url = `http://127.0.0.1:${sts.port}`;
  return {
    sts,
    google,
    log,
    exchange: async (fields = {}) => {
      const form = { grant_type: GRANT, subject_token: subject("a"), subject_token_type: JWT, ...fields };
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const body = new URLSearchParams(form).toString();
      const answer = await httpRequest({ url: `${url}/token`, method: "POST", headers, body, timeoutMs: 10_000 });
      return { status: answer.status, json: JSON.parse(answer.body) as Record<string, unknown> };
    },
    status: async () => {
      const answer = await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 });
      return (JSON.parse(answer.body) as { tokens: { token_type: string; token: string }[] }).tokens;
    },
  };
}

test("a client that closes its half with its request gets its token", async () => {
  const { sts } = await start();
  const form = { grant_type: GRANT, subject_token: subject("a"), subject_token_type: JWT };
  const body = new URLSearchParams(form).toString();
  const head = [
    "POST /token HTTP/1.0",
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${body.length}`,
  ].join("\r\n");
  expect(await askAndClose(sts.port, `${head}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*"access_token"/);
});

describe("an exchange", () => {
  test("takes Google's two steps and answers with the access token", async () => {
    const { google, exchange, log } = await start();
    const { status, json } = await exchange();
    expect(status).toBe(200);
    expect(json).toMatchObject({ access_token: "access-token-2", token_type: "Bearer", scope: "", refresh_token: "" });
    expect(json.expires_in).toBeGreaterThan(3000);
    expect(google.calls).toEqual([
      {
        step: "federated",
        path: "/v1/token",
        authorization: undefined,
        body: {
          audience: "identitynamespace:pool.example:https://cluster",
          grantType: GRANT,
          requestedTokenType: "urn:ietf:params:oauth:token-type:access_token",
          subjectTokenType: JWT,
          subjectToken: subject("a"),
          scope: CLOUD,
        },
      },
      {
        step: "access",
        path: "/v1/projects/-/serviceAccounts/service-1234@gcp-sa-meshdataplane.iam.gserviceaccount.com:generateAccessToken",
        authorization: "Bearer federated-token",
        body: { name: "", delegates: null, scope: [CLOUD], lifetime: { seconds: 3600 } },
      },
    ]);
    expect(log.text()).not.toMatch(/federated-token|access-token|e30\./);
  });

  test("passes the scope that was asked for to both steps", async () => {
    const { google, exchange } = await start();
    await exchange({ scope: "scope-a scope-b" });
    expect(google.calls.map((call) => call.body.scope)).toEqual(["scope-a scope-b", ["scope-a", "scope-b"]]);
  });

  test("of generation 1.7 names the trust domain regardless of what the token says", async () => {
    const { google, exchange } = await start({ namespaceFromToken: false });
    await exchange();
    expect(google.calls[0]?.body.audience).toBe("identitynamespace:cluster.local:https://cluster");
  });

  test("whose expiry Google does not say lives an hour", async () => {
    const { google, exchange } = await start();
    google.answer("access", { body: { accessToken: "x", expireTime: "soon" } });
    expect((await exchange()).json.expires_in).toBeGreaterThan(3000);
  });
});

describe("the cache", () => {
  test("gives ten clients at a time one token for one exchange", async () => {
    const { google, exchange } = await start();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange()));
    expect(new Set(answers.map((answer) => answer.json.access_token))).toEqual(new Set(["access-token-2"]));
    await exchange();
    expect([google.count("federated"), google.count("access")]).toEqual([1, 1]);
  });

  test("keeps subjects, audiences and scopes apart", async () => {
    const { google, exchange } = await start();
    await exchange();
    await exchange({ subject_token: subject("b") });
    await exchange({ audience: "x" });
    await exchange({ scope: "y" });
    expect(google.count("access")).toBe(4);
    await exchange({ scope: "y" });
    expect(google.count("access")).toBe(4);
  });

  test("never gives out a token that lives less than five minutes", async () => {
    const { google, exchange } = await start({}, 240);
    await exchange();
    await exchange();
    expect(google.count("access")).toBe(2);
  });

  test("forgets a failed exchange", async () => {
    const { google, exchange } = await start();
    google.answer("access", { status: 403, body: {} });
    expect((await exchange()).status).toBe(500);
    google.answer("access", { body: { accessToken: "good", expireTime: "x" } });
    expect((await exchange()).json.access_token).toBe("good");
  });
});

describe("Google in trouble", () => {
  test.each([
    { what: "a server error", answer: { status: 503 } },
    { what: "a cut connection", answer: { cut: true } },
  ])("$what is tried again with the whole body", async ({ answer }) => {
    const { google, exchange } = await start();
    google.answer("federated", answer, answer, { body: { access_token: "federated-token", expires_in: 3600 } });
    expect((await exchange()).status).toBe(200);
    expect(google.count("federated")).toBe(3);
    expect(google.calls.slice(0, 3).every((call) => call.body.subjectToken === subject("a"))).toBe(true);
  });

  test("that lasts is reported after five tries", async () => {
    const { google, exchange } = await start();
    google.answer("federated", { status: 500 });
    const { status, json } = await exchange();
    expect({ status, json }).toEqual({
      status: 500,
      json: {
        error: "invalid_target",
        error_description: "failed to exchange federated token (HTTP status 500)",
        error_uri: "",
      },
    });
    expect(google.count("federated")).toBe(5);
  });

  test("a refused subject token is the client's mistake, at once", async () => {
    const { google, exchange } = await start();
    google.answer("federated", { status: 400, body: { error: "invalid_grant" } });
    const { status, json } = await exchange();
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: "invalid_request",
      error_description: "failed to exchange federated token (HTTP status 400)",
    });
    expect(google.count("federated")).toBe(1);
  });

  test.each([
    { step: "federated" as const, says: "federated token response does not have access token" },
    { step: "access" as const, says: "access token response does not have access token" },
  ])("an answer of the $step step without a token is reported", async ({ step, says }) => {
    const { google, exchange } = await start();
    for (const body of [{}, "garbage", { access_token: "", accessToken: "" }]) {
      google.answer(step, { body });
      expect((await exchange()).json).toMatchObject({ error: "invalid_target", error_description: says });
    }
  });

  test("the status shows what was issued so far and no token", async () => {
    const { google, exchange, status } = await start();
    expect(await status()).toEqual([]);
    google.answer("federated", { status: 500 });
    await exchange();
    expect(await status()).toEqual([]);
    google.answer("federated", { body: { access_token: "federated-token", expires_in: 60 } });
    google.answer("access", { status: 500 });
    await exchange();
    expect((await status()).map((token) => token.token_type)).toEqual(["federated token"]);
    google.answer("access");
    await exchange();
    const tokens = await status();
    expect(tokens.map((token) => token.token_type)).toContain("access token");
    expect(tokens.every((token) => token.token === "")).toBe(true);
  });
});

test("calls of the process itself use the same manager, one token for many", async () => {
  await using google = await startFakeGoogle();
  const manager = createTokenManager("GoogleTokenExchange", {
    trustDomain: "td",
    identityProvider: "idp",
    projectNumber: "1",
    federatedEndpoint: `${google.url}/v1/token`,
    credentialsUrl: google.url,
    log: recordLog(),
  });
  const { signal } = new AbortController();
  const tokens = [1, 2, 3].map(() => fetchAccessToken(manager, new Secret(subject("a")), signal));
  expect(new Set((await Promise.all(tokens)).map((token) => token.reveal()))).toEqual(new Set(["access-token-2"]));
  await expect(fetchAccessToken(manager, new Secret(""), signal)).rejects.toMatchObject({ code: "invalid_request" });
  expect(google.calls).toHaveLength(2);
});

describe("the server", () => {
  test("refuses oversized bodies, other methods and other paths", async () => {
    const { sts } = await start();
    const url = `http://127.0.0.1:${sts.port}`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const large = await httpRequest({
      url: `${url}/token`,
      method: "POST",
      headers,
      body: "x".repeat(70_000),
      timeoutMs: 5_000,
    });
    expect(large.status).toBe(413);
    expect(JSON.parse(large.body)).toMatchObject({ error: "invalid_request" });
    expect((await httpRequest({ url: `${url}/token`, timeoutMs: 5_000 })).status).toBe(400);
    expect((await httpRequest({ url: `${url}/other`, timeoutMs: 5_000 })).status).toBe(404);
  });

  test.each<Record<string, string>>([
    { host: "rebound.example" },
    { origin: "http://evil.example" },
    { "sec-fetch-site": "cross-site" },
  ])("gives no token to a page of another server, with %j", async (headers) => {
    const { sts, google } = await start();
    const body = new URLSearchParams({
      grant_type: GRANT,
      subject_token: subject("a"),
      subject_token_type: JWT,
    }).toString();
    const length = `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}`;
    const sent = Object.entries({ host: `127.0.0.1:${sts.port}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const answer = await askAndClose(
      sts.port,
      `POST /token HTTP/1.1\r\n${sent.join("\r\n")}\r\n${length}\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(google.calls).toEqual([]);
  });

  test("does not take fields from the query string", async () => {
    const { sts } = await start();
    const query = new URLSearchParams({ grant_type: GRANT, subject_token: "t", subject_token_type: JWT });
    const url = `http://127.0.0.1:${sts.port}/token?${query}`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await httpRequest({ url, method: "POST", headers, body: "", timeoutMs: 5_000 })).status).toBe(400);
  });

  test("answers with 'no plugin is found' when there is none", async () => {
    const { exchange, status } = await start({}, 3600, "Nobody");
    expect(await exchange()).toMatchObject({ status: 500, json: { error_description: "no plugin is found" } });
    expect(await status()).toEqual([]);
    expect(noTokenManager.status()).toEqual([]);
  });

  test("answers a failure of its own without telling what it was", async () => {
    const log = recordLog();
    const manager = { exchange: () => Promise.reject(new Error("inner secret")), status: () => [] };
    const sts = opened.add(await startStsServer({ port: 0, manager, log }));
    const body = new URLSearchParams({ grant_type: GRANT, subject_token: "t", subject_token_type: JWT }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const url = `http://127.0.0.1:${sts.port}/token`;
    const answer = await httpRequest({ url, method: "POST", headers, body, timeoutMs: 5_000 });
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain("inner secret");
    expect(log.text()).toContain("token request failed");
  });

  test("a taken port fails the start", async () => {
    const { sts } = await start();
    const again = startStsServer({ port: sts.port, manager: noTokenManager, log: recordLog() });
    await expect(again).rejects.toMatchObject({ code: "address-in-use" });
  });

  test("goes on when a client leaves in the middle of its request", async () => {
    const { sts, exchange, log } = await start();
    const socket = connect(sts.port, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const head =
      "POST /token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 99\r\n\r\n";
    socket.write(`${head}subject`, () => socket.destroy());
    await new Promise((resolve) => socket.once("close", resolve));
    expect((await exchange()).status).toBe(200);
    expect(log.lines.filter((line) => line.level === "error")).toEqual([]);
  });

  test("stops while an exchange hangs, and the client gets an answer", async () => {
    const { sts, google, exchange } = await start();
    google.answer("federated", { after: new Promise(() => undefined) });
    const waiting = exchange();
    await expect.poll(() => google.count("federated")).toBe(1);
    await Promise.all([sts.stop(), sts.stop()]);
    expect(await waiting).toMatchObject({ status: 500, json: { error: "invalid_target" } });
  });
});

test("the project's number comes from the metadata server, and without one the reason is reported", async () => {
  const http = await startHttpServer((request, response) => {
    const right = request.url === "/computeMetadata/v1/project/numeric-project-id";
    response.writeHead(right && request.headers["metadata-flavor"] === "Google" ? 200 : 404).end("987\n");
  });
  opened.add(http);
  expect(await readProjectNumber(http.url)).toBe("987");
  await expect(readProjectNumber(`${http.url}/not`)).rejects.toThrow(
    "GoogleTokenExchange token manager specified but failed to ready GCP project information: status 404",
  );
  await expect(readProjectNumber("http://127.0.0.1:1")).rejects.toThrow("ECONNREFUSED");
});
