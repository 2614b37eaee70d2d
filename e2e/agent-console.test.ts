import { statSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import type { GraphSnapshot, Session, WorkloadDetail } from "../src/console/api.ts";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { startChromium } from "../test/support/console/chromium.ts";
import { openConsole } from "../test/support/console/console-client.ts";
import { expectStrangersRefused, linkFileOf, takeLink } from "../test/support/console/link-of-log.ts";
import { cardHead } from "../test/support/console/real-console.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener, staticCluster } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

const GRAPH = "fetch('/api/graph').then((answer) => answer.json())";
const CLUSTER = "outbound|80||reviews.shop.svc.cluster.local";

test("proxy --console serves the agent's own part to whoever has the link; without the flag there is no console", async () => {
  const [port = 0, consolePort = 0] = await freePorts(2);
  await using reviews = await startHttpServer((_, answer) => void answer.end("reviews\n"));
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      httpListener({ name: "out", port, cluster: CLUSTER }),
      staticCluster(CLUSTER, reviews.port, false),
    ],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    args: ["--console", String(consolePort)],
    // As an operator does who wants edges: sidecars keep no statistics of clusters otherwise.
    proxyConfig: { proxyStatsMatcher: { inclusionPrefixes: ["cluster.outbound"] } },
  });
  await using plain = await startAgentProcess({ controlPlane, name: "other" });
  await Promise.all([agent.untilReady(), plain.untilReady()]);

  expect(statSync(linkFileOf(agent.stdout())).mode & 0o777).toBe(0o600);
  const link = takeLink(agent.stdout());
  const { origin, port: served, searchParams } = new URL(link);
  expect(served).toBe(String(consolePort));
  expect(agent.stdout()).not.toContain(searchParams.get("token"));

  const client = await openConsole(link);
  const session = (await client.get("/api/session")).body as Session;
  expect(session).toMatchObject({
    scope: "agent",
    name: "app",
    features: { graph: true, actions: [], editing: false },
  });
  expect((await client.get("/")).text).toContain("<title>");
  const looking = new AbortController();
  const events = await client.follow("/api/events", looking.signal);
  const edges = () => (events.findLast(({ event }) => event === "graph")?.data as GraphSnapshot | undefined)?.edges;
  await until("the call is an edge", async () => {
    expect((await fetchText(port, "/")).body).toBe("reviews\n");
    return edges()?.some(({ from, to, rps }) => from.includes("app") && to.includes("reviews") && rps > 0);
  });
  looking.abort();
  const read = async () => (await client.get("/api/workloads/app")).body as WorkloadDetail;
  // The first certificate may come after readiness: no listener here needs it.
  await expect
    .poll(async () => JSON.stringify((await read()).certificates))
    .toContain("spiffe://cluster.local/ns/ns/sa/app");
  const detail = await read();
  expect(detail).toMatchObject({ kind: "sidecar", envoyState: { state: "LIVE" } });
  expect(detail.clusters?.map(({ name }) => name)).toContain(CLUSTER);
  expect(JSON.stringify(detail)).not.toContain("PRIVATE KEY");

  const stranger = await openConsole(`${origin}/?token=wrong`);
  expect(stranger.cookie).toBe("");
  expect((await stranger.get("/api/session")).status).toBe(401);
  expect((await stranger.get("/?token=wrong")).status).toBe(403);

  expect(agent.stdout()).toContain(`FLAG: --console="${consolePort}"`);
  expect(plain.stdout()).not.toMatch(/console/);
});

test("the page of proxy --console shows the agent and what it has called, before and after its first request", async (context) => {
  needs("chromium")(context);
  const [port = 0, consolePort = 0] = await freePorts(2);
  // No connection is left open: it would count as traffic.
  await using reviews = await startHttpServer((_, answer) => {
    answer.setHeader("connection", "close").end("reviews\n");
  });
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      httpListener({ name: "out", port, cluster: CLUSTER }),
      staticCluster(CLUSTER, reviews.port, false),
    ],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    args: ["--console", String(consolePort)],
    proxyConfig: { proxyStatsMatcher: { inclusionPrefixes: ["cluster.outbound"] } },
  });
  await using browser = await startChromium();
  await agent.untilReady();
  const link = takeLink(agent.stdout());

  await using opened = await browser.open(link);
  const { page, complaints } = opened;
  await cardHead(page, "app").waitFor();
  expect(await page.locator(".card-name").allTextContents()).toEqual(["app"]);
  expect((await fetchText(port, "/")).body).toBe("reviews\n");
  await cardHead(page, "reviews").waitFor();
  const edges = async () => ((await page.evaluate(GRAPH)) as GraphSnapshot).edges;
  await expect.poll(edges).toEqual([]);
  await page.reload();
  await cardHead(page, "reviews").waitFor();
  expect(await edges()).toEqual([]);
  await page.getByRole("navigation").getByRole("button", { name: "Workloads" }).click();
  await page.locator("th").getByRole("button", { name: "app" }).click();
  await page.getByRole("tab", { name: "Certificates" }).click();
  await page.getByText("spiffe://cluster.local/ns/ns/sa/app").first().waitFor();
  expect(complaints).toEqual([]);
  await expectStrangersRefused(browser, link);
});
