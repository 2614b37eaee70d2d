import { afterEach, expect, test } from "vitest";
import { startFakeGoogle } from "../../test/support/ca-google.ts";
import { CloseStack } from "../base/close-stack.ts";
import { httpRequest } from "../base/http-request.ts";
import { silentLogger } from "../base/logger.ts";
import { chooseGeneration, defaultProxyFlags, type PlatformInfo, readAgentConfig } from "../config/index.ts";
import { memoryFiles } from "../config/testing/memory-files.ts";
import { connectSts } from "./connect-sts.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const SUBJECT = `e30.${Buffer.from(JSON.stringify({ aud: "pool.example" })).toString("base64url")}.sig`;

async function startWith(generation: string, platform: Promise<PlatformInfo>) {
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
  };
  const config = await readAgentConfig({
    args: [],
    flags: defaultProxyFlags(chooseGeneration(generation)),
    env,
    log: silentLogger,
    uid: 1337,
    files: memoryFiles({}),
    networkInterfaces: () => ({}),
    lookupHost: () => Promise.reject(new Error("no lookups here")),
    hostCpus: 4,
  });
  const sts = opened.add(await connectSts(config, platform, silentLogger));
  const url = `http://127.0.0.1:${sts.port}`;
  const fields = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: SUBJECT,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
  };
  const exchange = () =>
    httpRequest({
      url: `${url}/token`,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
      timeoutMs: 5_000,
    });
  return { google, url, exchange };
}

const onGcp = Promise.resolve({ metadata: { gcp_project_number: "42" } } as unknown as PlatformInfo);

test.each([
  { generation: "1.7", namespace: "td" },
  { generation: "1.20", namespace: "pool.example" },
])("$generation exchanges for $namespace", async ({ generation, namespace }) => {
  const { google, exchange } = await startWith(generation, onGcp);
  expect((await exchange()).status).toBe(200);
  expect(google.calls[0]?.body.audience).toContain(`identitynamespace:${namespace}:`);
});

test("a platform that cannot be found out fails the requests and not the process", async () => {
  const { exchange, url } = await startWith("1.20", Promise.reject(new Error("no platform")));
  expect((await exchange()).status).toBe(500);
  expect((await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 })).body).toBe('{\n "tokens": []\n}');
});

test("outside Google's cloud the client is told so", async () => {
  const { exchange, google } = await startWith("1.20", Promise.resolve({ metadata: {} } as PlatformInfo));
  expect((await exchange()).body).toContain("failed to ready GCP project information");
  expect(google.calls).toEqual([]);
});
