import { beforeEach, expect, test } from "vitest";
import { httpRequest } from "../src/net/http-client/http-request.ts";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { startChromium } from "../test/support/console/chromium.ts";
import { expectStrangersRefused, takeLink } from "../test/support/console/link-of-log.ts";
import { cardHead } from "../test/support/console/real-console.ts";
import { startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { startLoad } from "../test/support/net/start-load.ts";

beforeEach(needs("envoy", "chromium"));

const HOST = "reviews.shop.svc.cluster.local";

/** Without capture: the sidecar's way out is a port of its own. */
const objects = (port: number, target: number) => `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [${HOST}]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: ${port}, name: http, protocol: HTTP}]
  endpoints: [{address: 127.0.0.1, ports: {http: ${target}}}]
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: front, namespace: ns}
spec:
  egress:
  - port: {number: ${port}, name: http, protocol: HTTP}
    bind: 127.0.0.1
    captureMode: NONE
    hosts: ["*/${HOST}"]
`;

test("the page of discovery --console shows a connected proxy and its calls, and writes a rule that the proxy follows", async () => {
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0, out = 0, consolePort = 0] = await freePorts(6);
  await using reviews = await startHttpServer((_, answer) => void answer.end("reviews\n"));
  await using discovery = await startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files: { "objects.yaml": objects(out, reviews.port) },
    args: ["--console", String(consolePort)],
    isReady: async () => (await fetchAnswer(`http://127.0.0.1:${http}/ready`).catch(() => undefined))?.status === 200,
  });
  await using agent = await startAgentProcess({
    name: "front-1",
    controlPlane: { port: secureGrpc, rootFile: discovery.rootFile, token: discovery.token },
    proxyConfig: { proxyStatsMatcher: { inclusionPrefixes: ["cluster.outbound"] } },
    env: { ISTIO_META_INTERCEPTION_MODE: "NONE" },
  });
  await using browser = await startChromium();
  await agent.untilReady();
  const link = takeLink(discovery.output());
  const ask = async () => {
    const { status } = await httpRequest({ url: `http://127.0.0.1:${out}/`, headers: { host: HOST } });
    return String(status);
  };
  const load = startLoad(ask, { pauseMs: 20 });
  try {
    await using opened = await browser.open(link);
    const { page, complaints } = opened;
    await cardHead(page, "front-1").waitFor();
    await cardHead(page, "reviews").waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "Traffic" }).click();
    const row = page.getByRole("row").filter({ hasText: "front-1" }).filter({ hasText: "reviews" });
    await expect
      .poll(async () => Number.parseFloat((await row.locator(".number").first().textContent()) ?? ""))
      .toBeGreaterThan(0);

    await page.getByRole("navigation").getByRole("button", { name: "Graph" }).click();
    await cardHead(page, "reviews").click();
    await page.locator(".action-head").getByText("Abort", { exact: true }).click();
    await page.getByLabel("Of requests").fill("100");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.locator(".toast-ok").waitFor();
    await expect.poll(() => load.answers.get("503") ?? 0).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  } finally {
    await load.stop();
  }
  expect(load.failures).toEqual([]);
  await expectStrangersRefused(browser, link);
});
