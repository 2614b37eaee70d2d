import { afterEach, describe, expect, test } from "vitest";
import { xdsCredentials } from "../../src/agent/connect-xds.ts";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { Secret } from "../../src/base/secret.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import type { PlatformInfo } from "../../src/platform/platform-info.ts";
import { chooseGeneration } from "../../src/settings/generations.ts";
import { defaultProxyFlags } from "../../src/settings/proxy-flags.ts";
import { readAgentConfig } from "../../src/settings/read-agent-config.ts";
import { startTokenExchange } from "../../src/sts/start-token-exchange.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { memoryFiles } from "../support/settings/memory-files.ts";
import { startFakeGoogle } from "../support/sts/google-endpoints.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const SUBJECT = `e30.${Buffer.from(JSON.stringify({ aud: "pool.example" })).toString("base64url")}.sig`;

async function startWith(generation: string, platform: Promise<PlatformInfo>, more: Record<string, string> = {}) {
  const google = await startFakeGoogle();
  opened.add(google);
  const env = {
    POD_NAME: "p",
    POD_NAMESPACE: "ns",
    INSTANCE_IP: "10.3.3.3",
    PILOT_AGENT_GENERATION: generation,
    STS_FEDERATED_TOKEN_ENDPOINT: `${google.url}/v1/token`,
    STS_CREDENTIALS_URL: google.url,
    TRUST_DOMAIN: "td",
    ...more,
  };
  const [stsPort = 0] = await freePorts(1);
  const defaults = defaultProxyFlags(chooseGeneration(generation));
  const { PLUGIN: plugin = defaults.tokenManagerPlugin } = more;
  const config = await readAgentConfig({
    args: [],
    flags: { ...defaults, stsPort, tokenManagerPlugin: plugin },
    env,
    log: silentLogger,
    uid: 1337,
    files: memoryFiles({}),
    networkInterfaces: () => ({}),
    lookupHost: () => Promise.reject(new Error("no lookups here")),
    hostCpus: 4,
  });
  const { signal } = new AbortController();
  if (config.sts === undefined) throw new Error(`${generation} does not exchange tokens`);
  const metadata = platform.then((found) => found.metadata);
  const exchange = opened.add(await startTokenExchange({ ...config.sts, metadata, log: silentLogger, signal }));
  const url = `http://127.0.0.1:${stsPort}`;
  const fields = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: SUBJECT,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
  };
  const ask = () =>
    httpRequest({
      url: `${url}/token`,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
      timeoutMs: 5_000,
    });
  return { google, url, exchange, ask };
}

const onGcp = Promise.resolve({ metadata: { gcp_project_number: "42" } } as unknown as PlatformInfo);
const elsewhere = Promise.resolve({ metadata: {} } as PlatformInfo);
/** Metadata that is given is not asked for; this one has no project. */
const NO_PROJECT = { GCP_METADATA: "|||" };
const NO_PROJECT_TEXT = "GoogleTokenExchange token manager specified but failed to ready GCP project information";

test.each([
  { generation: "1.7", namespace: "td" },
  { generation: "1.20", namespace: "pool.example" },
  { generation: "master", namespace: "pool.example", more: { PLUGIN: "GoogleTokenExchange" } },
])("$generation exchanges for $namespace", async ({ generation, namespace, more }) => {
  const { google, ask } = await startWith(generation, onGcp, more);
  expect((await ask()).status).toBe(200);
  expect(google.calls[0]?.body.audience).toContain(`identitynamespace:${namespace}:`);
});

test("outside Google's cloud 1.20 does not start", async () => {
  await expect(startWith("1.20", elsewhere, NO_PROJECT)).rejects.toMatchObject({
    message: NO_PROJECT_TEXT,
  });
});

test("a metadata server that refuses connections stops 1.20 with the reason", async () => {
  const [closed = 0] = await freePorts(1);
  const more = { GCE_METADATA_HOST: `127.0.0.1:${closed}` };
  const started = startWith("1.20", Promise.reject(new Error("no platform")), more);
  await expect(started).rejects.toThrow(new RegExp(`^${NO_PROJECT_TEXT}: .*ECONNREFUSED`));
});

test("a project that the platform did not name in time comes from the metadata server", async () => {
  const asked: (string | undefined)[] = [];
  const metadata = await startHttpServer((request, response) => {
    asked.push(`${request.url} ${request.headers["metadata-flavor"]}`);
    response.end("4711\n");
  });
  opened.add(metadata);
  const { google, exchange, ask } = await startWith("1.20", elsewhere, {
    GCE_METADATA_HOST: new URL(metadata.url).host,
  });
  expect(exchange.projectNumber).toBe("4711");
  expect((await ask()).status).toBe(200);
  expect(google.calls[1]?.path).toContain("service-4711@");
  expect(asked).toEqual(["/computeMetadata/v1/project/numeric-project-id Google"]);
});

test.each(["1.7", "1.8"])("outside Google's cloud %s runs without a plug-in", async (generation) => {
  const { ask, url, google } = await startWith(generation, elsewhere, NO_PROJECT);
  const answer = await ask();
  expect([answer.status, JSON.parse(answer.body).error_description]).toEqual([500, "no plugin is found"]);
  expect((await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 })).body).toBe('{\n "tokens": []\n}');
  expect(google.calls).toEqual([]);
});

test("without a plug-in the default generation serves the port and refuses each request with the reason", async () => {
  const { ask } = await startWith("master", elsewhere, NO_PROJECT);
  expect((await ask()).body).toContain("no plugin is found");
});

test("up to 1.8 the port is open before the cloud is known, and requests wait", async () => {
  let resolvePlatform: (platform: PlatformInfo) => void = () => undefined;
  const { ask } = await startWith("1.8", new Promise((resolve) => (resolvePlatform = resolve)));
  const asked = ask();
  resolvePlatform(await onGcp);
  expect((await asked).status).toBe(200);
});

test("an unknown plug-in needs no project", async () => {
  const { ask } = await startWith("1.20", elsewhere, { ...NO_PROJECT, PLUGIN: "Other" });
  expect((await ask()).body).toContain("no plugin is found");
});

describe("tokens for the control plane", () => {
  const tokens = { fetch: async () => new Secret(SUBJECT) };
  const gcp = { exchangesTokens: true };

  test("are exchanged on 1.20 with XDS_AUTH_PROVIDER=gcp, and the project pays", async () => {
    const { google, exchange } = await startWith("1.20", onGcp);
    const { token, headers } = xdsCredentials(gcp, tokens, exchange);
    expect(await token?.()).toBe("access-token-2");
    expect(headers).toEqual({ "x-goog-user-project": "42" });
    expect(google.calls[0]?.body.subjectToken).toBe(SUBJECT);
  });

  test("that are not there are an error and no question to Google", async () => {
    const { google, exchange } = await startWith("1.20", onGcp);
    const { token } = xdsCredentials(gcp, { fetch: async () => undefined }, exchange);
    await expect(token?.()).rejects.toThrow("subject_token is empty");
    expect(google.calls).toEqual([]);
  });

  test.each([
    { what: "another provider", config: { exchangesTokens: false } },
    { what: "a generation without exchange", config: gcp },
  ])("stay what they are with $what", async ({ config }) => {
    const { token, headers } = xdsCredentials(config, tokens, undefined);
    expect(await token?.()).toBe(SUBJECT);
    expect(headers).toEqual({});
  });

  test("are not asked for where there is no fetcher", () => {
    expect(xdsCredentials(gcp, undefined, undefined)).toEqual({ token: undefined, headers: {} });
  });
});
