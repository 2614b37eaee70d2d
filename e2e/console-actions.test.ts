import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { GraphSnapshot } from "../src/console/api.ts";
import { ASK_APP, ask, askMeshFile } from "../test/support/console/ask-mesh.ts";
import { startChromium, type TestBrowser } from "../test/support/console/chromium.ts";
import { applyToService, cardHead, openConsole, undoLast } from "../test/support/console/real-console.ts";
import { type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

interface Place {
  readonly mesh: MeshRun;
  readonly browser: TestBrowser;
  /** Callers of the reviews, by their address from outside. */
  readonly front: string;
  readonly guest: string;
}

/** Every test undoes what it has done. */
const place = sharedPlace<Place>(["chromium", "envoy", "netns", "iptables"], async (opened) => {
  const rates = await startHttpServer((_, answer) => void answer.end("rates"));
  opened.defer(async () => rates[Symbol.asyncDispose]());
  const mesh = opened.add(startMeshRun({ file: askMeshFile(rates.port), files: { "ask.mjs": ASK_APP } }));
  const browser = opened.add(await startChromium());
  await mesh.untilUp();
  const { entries } = await mesh.status();
  return { mesh, browser, front: entries.front ?? "", guest: entries.guest ?? "" };
});

const statuses = async (entry: string, target: string, options: Parameters<typeof ask>[2] = {}) =>
  (await ask(entry, target, options)).map(({ status }) => status);

async function openReviews(): Promise<Awaited<ReturnType<typeof openConsole>>> {
  const opened = await openConsole(place());
  await cardHead(opened.page, "reviews").waitFor();
  return opened;
}

const field = (page: Page, label: string) =>
  page
    .locator(".field")
    .filter({ hasText: new RegExp(`^${label}`) })
    .locator("input, select");

const apply = (page: Page, action: string, fill?: () => Promise<void>) => applyToService(page, "reviews", action, fill);

test("canary by header: requests that carry it go to the version, all others as before, until it is undone", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  const versions = async (headers: Readonly<Record<string, string>> = {}) =>
    (await ask(front, "/", { times: 10, headers })).map(({ body }) => body);
  await apply(page, "Canary by header", async () => {
    await field(page, "Version").selectOption("v2");
    await field(page, "Value").fill("me");
  });
  const canary = { "x-canary": "me" };
  await until("the canary has it", async () => (await versions(canary)).every((version) => version === "v2"));
  expect(new Set(await versions())).toEqual(new Set(["v1"]));
  expect(new Set(await versions({ "x-canary": "you" }))).toEqual(new Set(["v1"]));
  await undoLast(page);
  await until("it is taken back", async () => (await versions(canary)).every((version) => version === "v1"));
});

test("delay: every request takes as long at least, until it is undone", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  const fastest = async () => Math.min(...(await ask(front, "/", { times: 10 })).map(({ ms }) => ms));
  await apply(page, "Delay", async () => {
    await field(page, "Delay").fill("1500");
    await field(page, "Of requests").fill("100");
  });
  await until("every request is delayed", async () => (await fastest()) >= 1500);
  await undoLast(page);
  await until("requests are quick again", async () => (await fastest()) < 1500);
});

const graphOf = async (page: Page) =>
  (await page.evaluate("fetch('/api/graph').then((answer) => answer.json())")) as GraphSnapshot;

async function edgeTo(page: Page, service: string): Promise<GraphSnapshot["edges"][number] | undefined> {
  const { nodes, edges } = await graphOf(page);
  const isMeant = (id: string) => nodes.some((node) => node.id === id && (node.service ?? node.label) === service);
  return edges.find(({ from, to, rps }) => isMeant(to) && from.includes("front") && rps > 0);
}

test("timeout: a caller gives up on a slow answer with 504, and waits again when it is undone", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  const slow = async () => (await statuses(front, "/slow?ms=1500"))[0];
  expect(await slow()).toBe(200);
  await apply(page, "Timeout", async () => field(page, "Timeout").fill("300"));
  await until("it gives up", async () => (await slow()) === 504);
  await undoLast(page);
  await until("it waits", async () => (await slow()) === 200);
});

test("retries: a request that fails twice succeeds at the third attempt, and fails again when it is undone", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  let id = 0;
  const flaky = async () => {
    id += 1;
    return (await statuses(front, `/flaky?id=${id}`))[0];
  };
  expect(await flaky()).toBe(500);
  await apply(page, "Retries", async () => {
    await field(page, "Attempts").fill("3");
    await field(page, "When").fill("5xx");
  });
  await until("it is retried", async () => (await flaky()) === 200);
  await undoLast(page);
  await until("it is not", async () => (await flaky()) === 500);
});

test("circuit breaker: what is too much at once is refused by the caller's own Envoy, and passes when it is undone", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  const refused = async () =>
    (await statuses(front, "/slow?ms=500", { times: 12 })).filter((status) => status === 503).length;
  expect(await refused()).toBe(0);
  await apply(page, "Circuit breaker", async () => {
    await field(page, "Connections").fill("1");
    await field(page, "Waiting requests").fill("1");
  });
  await until("most are refused", async () => (await refused()) > 6);
  await until("the graph counts them", async () => {
    await refused();
    return ((await edgeTo(page, "reviews"))?.overflowsPerSecond ?? 0) > 0;
  });
  await undoLast(page);
  await until("none is refused", async () => (await refused()) === 0);
});

test("strict mutual TLS: a caller without a certificate is refused, and let in when it is undone", async () => {
  const { mesh, front } = place();
  const address = (await mesh.status()).workloads.find(({ name }) => name === "reviews-v1")?.address;
  const plain = async () => (await fetchAnswer(`http://${address}:8480/`).catch(() => undefined))?.status;
  expect(await plain()).toBe(200);
  await using opened = await openReviews();
  const { page } = opened;
  await apply(page, "Strict mutual TLS");
  await until("plain text is refused", async () => (await plain()) === undefined);
  expect(await statuses(front, "/")).toEqual([200]);
  await undoLast(page);
  await until("plain text is taken", async () => (await plain()) === 200);
});

test("deny a caller: that one is answered 403, the other as before, until it is undone", async () => {
  const { front, guest } = place();
  await using opened = await openReviews();
  const { page } = opened;
  expect(await statuses(guest, "/")).toEqual([200]);
  await apply(page, "Deny a caller", async () => field(page, "Caller").fill("guest"));
  await until("the guest is refused", async () => (await statuses(guest, "/"))[0] === 403);
  expect(await statuses(front, "/")).toEqual([200]);
  await undoLast(page);
  await until("the guest is let in", async () => (await statuses(guest, "/"))[0] === 200);
});

test("a service outside of the mesh is a card of its own kind, with what the caller's Envoy counts of it", async () => {
  const { front } = place();
  await using opened = await openReviews();
  const { page } = opened;
  await until("its edge has requests", async () => {
    expect(await statuses(front, "/rates")).toEqual([200]);
    return (await edgeTo(page, "rates")) !== undefined;
  });
  const { nodes } = await graphOf(page);
  expect(nodes.find(({ label }) => label === "rates")).toMatchObject({ kind: "external" });
  await page.locator(".card", { hasText: "rates" }).getByText("outside").first().waitFor();
});

test("what clusters and routes come from is said with file and line, and opens in the editor", async () => {
  const { mesh, browser } = place();
  await using opened = await openConsole({ mesh, browser }, "#workloads/workload/front");
  const { page } = opened;
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByText("reviews.shop.svc.cluster.local:8480").click();
  const rule = page.locator(".lines li").filter({ hasText: "reviews v1" });
  await rule.getByText(/from VirtualService shop\/reviews \(mesh\.yaml:\d+\)/).waitFor();
  await page.getByRole("tab", { name: "Clusters" }).click();
  const cluster = page.locator(".fold").filter({ hasText: "reviews v2 port 8480" });
  await cluster.locator("summary").click();
  await cluster.getByText("from ServiceEntry shop/reviews").first().waitFor();
  // Each endpoint says what it comes from as well.
  await cluster.getByRole("rowheader").first().getByText("from ServiceEntry shop/reviews").waitFor();
  await cluster.getByRole("button", { name: /^DestinationRule shop\/reviews \(mesh\.yaml:\d+\)$/ }).click();
  await expect.poll(() => page.getByLabel("YAML", { exact: true }).inputValue()).toContain("kind: DestinationRule");
  expect(opened.complaints).toEqual([]);
});
