import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { buildPage } from "../support/console/built-page.ts";
import { startChromium } from "../support/console/chromium.ts";
import { graphEdge, graphNode, shopGraph, shopScript } from "../support/console/mesh-scripts.ts";
import { startScriptedConsole } from "../support/console/scripted-console.ts";
import { sharedPlace } from "../support/shared-place.ts";

const place = sharedPlace(["chromium"], async (opened) => opened.add(await startChromium()));

/** A page on a console of its own: each test may change what the server says. */
async function openConsole(hash = "", options: Parameters<ReturnType<typeof place>["open"]>[1] = {}) {
  const server = await startScriptedConsole(shopScript());
  const opened = await place().open(`${server.url}${hash}`, options);
  await opened.page.waitForSelector("[data-card], table, .objects, .requests, .change-list, .refused, .empty");
  return {
    ...opened,
    server,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const card = (page: Page, id: string) => page.locator(`[data-card="${id}"]`);
const cardPlaces = (page: Page) =>
  page.$$eval("[data-card]", (cards) =>
    Object.fromEntries(cards.map((one) => [one.getAttribute("data-card"), one.getAttribute("style")])),
  );

test("the whole page is less than 150 KB compressed", async () => {
  const folder = await buildPage();
  const sizes = readdirSync(folder).map((name) => gzipSync(readFileSync(join(folder, name))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});

test("the graph shows services, versions with their shares, callers and what is outside, without a complaint of the browser", async () => {
  await using shown = await openConsole();
  const { page, complaints } = shown;
  expect(await page.locator(".card-name").allTextContents()).toEqual(
    expect.arrayContaining(["front", "catalogue", "stock", "load", "ingress", "rates.example.com"]),
  );
  await page.getByRole("button", { name: /catalogue v1\s*80%\s*of requests/ }).waitFor();
  expect(await card(page, "service/stock").getAttribute("class")).toContain("failing");
  expect(await page.title()).toContain("console");
  expect(complaints).toEqual([]);
});

test("cards stay where they stood when services come and go", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  const before = await cardPlaces(page);
  const { nodes, edges } = shopGraph();
  server.script.graph = {
    ...shopGraph(),
    nodes: [
      ...nodes.filter((node) => node.id !== "service/prices"),
      graphNode("service/reviews", { label: "reviews" }),
    ],
    edges: [
      ...edges.filter((edge) => !edge.from.includes("prices") && !edge.to.includes("prices")),
      graphEdge("service/front", "service/reviews"),
    ],
  };
  server.send("graph");
  await card(page, "service/reviews").waitFor();
  await card(page, "service/prices").waitFor({ state: "detached" });
  const without = await cardPlaces(page);
  server.script.graph = shopGraph();
  server.send("graph");
  await card(page, "service/prices").waitFor();
  const after = await cardPlaces(page);
  const { "service/prices": _prices, ...others } = before;
  expect(without).toMatchObject(others);
  expect(after).toEqual(before);
});

test("a slider shifts versions: the difference is shown first, then it is written, then undone", async () => {
  await using shown = await openConsole("#graph/node/service%2Fcatalogue");
  const { page, server } = shown;
  await page.getByRole("button", { name: "Shift versions" }).click();
  await page.getByLabel("Share of v2 in percent").fill("50");
  await expect.poll(() => page.locator(".diff-added").allTextContents()).toContain("+      weight: 50");
  expect(server.posted.every(({ path }) => path === "actions/preview")).toBe(true);
  await page.getByLabel("For how long").selectOption({ label: "for 10 minutes" });
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => server.posted.map(({ path }) => path)).toContain("actions/a1/undo");
  expect(server.posted.find(({ path }) => path === "actions")?.body).toMatchObject({
    action: { kind: "shift", service: "catalogue", weights: { v1: 50, v2: 50, v3: 0 } },
    expiresInMs: 600_000,
  });
});

test("an edge that is dragged up gives its version more, after a look at the difference", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  const row = await card(page, "service/catalogue").locator(".card-row").nth(1).boundingBox();
  if (row === null) throw new Error("no row");
  // The last part of a curve is level: it ends at the middle of the row.
  const [x, y] = [row.x - 16, row.y + row.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - 30, { steps: 4 });
  await page.mouse.move(x, y - 60, { steps: 4 });
  await page.mouse.up();
  await page.getByLabel("Share of v2 in percent").waitFor();
  expect(await page.getByLabel("Share of v2 in percent").inputValue()).toBe("50");
  await expect
    .poll(() => server.posted.at(-1))
    .toMatchObject({ path: "actions/preview", body: { action: { weights: { v2: 50 } } } });
});

test("every action of the list is shown before it is written, and what the server refuses is said", async () => {
  await using shown = await openConsole("#graph/node/service%2Fcatalogue");
  const { page, server } = shown;
  const list = page.locator(".action-head");
  const previewed = () => server.posted.map(({ body }) => (body.action as { readonly kind: string }).kind);
  for (const [title, kind] of Object.entries(ACTIONS)) {
    await list.getByText(title, { exact: true }).click();
    await expect.poll(previewed).toContain(kind);
  }
  expect(await list.allTextContents()).toEqual(Object.keys(ACTIONS));
  expect(await page.getByLabel("Caller").inputValue()).toBe("front");
  server.script.refusal = "front is no caller of catalogue";
  await page.getByLabel("Caller").fill("load");
  await expect.poll(() => page.getByRole("alert").textContent()).toBe("front is no caller of catalogue");
});

const ACTIONS = {
  "Shift versions": "shift",
  "Ramp up a version": "ramp",
  "Canary by header": "canary",
  Delay: "delay",
  Abort: "abort",
  Timeout: "timeout",
  Retries: "retries",
  "Circuit breaker": "circuit-breaker",
  "Strict mutual TLS": "strict-mtls",
  "Deny a caller": "deny",
};

test("steps of a ramp stay as they are written while figures come", async () => {
  await using shown = await openConsole("#graph/node/service%2Fcatalogue");
  const { page, server } = shown;
  await page.getByRole("button", { name: "Ramp up a version" }).click();
  const steps = page.getByLabel("Steps in %");
  await steps.fill("40, ");
  server.script.graph = shopGraph([70, 30, 0]);
  server.send("graph");
  await page.getByRole("button", { name: /catalogue v1\s*70%/ }).waitFor();
  await steps.press("End");
  await steps.pressSequentially("100");
  expect(await steps.inputValue()).toBe("40, 100");
  await expect.poll(() => server.posted.at(-1)?.body).toMatchObject({ action: { kind: "ramp", steps: [40, 100] } });
});

test("a YAML mistake is shown beside its line, and applying it is refused there", async () => {
  await using shown = await openConsole("#objects");
  const { page } = shown;
  await page.locator(".object-item", { hasText: "catalogue" }).last().click();
  const area = page.getByLabel("YAML", { exact: true });
  await expect.poll(() => area.inputValue()).toContain("timeout: 2s");
  await area.fill((await area.inputValue()).replace("timeout: 2s", "timeout: soon"));
  await expect
    .poll(() => page.locator('[data-line="9"] .editor-message').textContent())
    .toContain('"soon" is no duration');
  await page.getByRole("button", { name: "Apply" }).click();
  await expect.poll(() => page.getByRole("alert").textContent()).toContain("nothing was written");
  expect(await page.locator(".line-error").count()).toBe(1);
  await area.fill((await area.inputValue()).replace("timeout: soon", "timeout: 3s"));
  await page.locator(".line-error").waitFor({ state: "detached" });
  await page.getByRole("tab", { name: "Difference" }).click();
  expect(await page.locator(".diff-added").textContent()).toContain("timeout: 3s");
});

test("keys are completed by the schema of the kind", async () => {
  await using shown = await openConsole("#objects");
  const { page } = shown;
  await page.getByRole("button", { name: "New" }).click();
  const area = page.getByLabel("YAML", { exact: true });
  await area.fill("kind: VirtualService\nspec:\n  ");
  await area.press("End");
  // The schema is fetched when the kind is known.
  await expect
    .poll(async () => {
      await area.press("Control+Space");
      return page.getByRole("option").allTextContents();
    })
    .toEqual(["hostslist of string", "httplist of object"]);
  await area.pressSequentially("ho");
  await area.press("Enter");
  expect(await area.inputValue()).toBe("kind: VirtualService\nspec:\n  hosts:");
});

test("the page reconnects by itself, and says how old its figures are meanwhile", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  await page.getByText("live", { exact: true }).waitFor();
  server.cut(true);
  await page.getByText(/The console does not answer since/).waitFor();
  await page.getByText(/\d+ s old/).waitFor();
  server.script.state = { ...server.script.state, problems: ["rules.yaml:4: no such field"] };
  server.cut(false);
  await page.getByText("rules.yaml:4: no such field").waitFor();
  server.send("graph");
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByText(/does not answer/).waitFor({ state: "detached" });
});

test("figures that stop coming are shown with their age", async () => {
  await using shown = await openConsole();
  await shown.page.getByText(/The figures are \d+ s old/).waitFor();
});

test("without a session the page says how to get one", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  server.refuse(true);
  await page.reload();
  await page.getByRole("heading", { name: "This page needs its link" }).waitFor();
  await page.getByText("the session is of another run").waitFor();
});

test("a control plane that is stopped is said in words: traffic goes on", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  server.script.state = { ...server.script.state, controlPlane: { phase: "stopped", sinceAt: Date.now() - 20_000 } };
  server.send("state");
  await page.getByText("The control plane is stopped").waitFor();
  await page.getByText(/Traffic goes on/).waitFor();
  await page.getByRole("button", { name: "Start the control plane" }).waitFor();
});

test("a moment of the last ten minutes is shown again, and live is one press away", async () => {
  await using shown = await openConsole();
  const { page } = shown;
  const stock = card(page, "service/stock");
  await page.getByRole("button", { name: "Pause" }).click();
  const scrub = page.getByLabel("Moment that is shown");
  const [first, last] = [Number(await scrub.getAttribute("min")), Number(await scrub.getAttribute("max"))];
  // Of the history's fault: minutes 3.4 to 5 of ten.
  await scrub.fill(String(first + Math.round((last - first) * 0.2)));
  await expect.poll(() => stock.getAttribute("class")).not.toContain("failing");
  await scrub.fill(String(first + Math.round((last - first) * 0.42)));
  await expect.poll(() => stock.getAttribute("class")).toContain("failing");
  await page.getByRole("button", { name: "Replay at ten times the speed" }).click();
  await expect.poll(() => stock.getAttribute("class")).not.toContain("failing");
  await page.getByRole("button", { name: "Live", exact: true }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

test("marks on the strip say what was done or restarted, and lead to that moment", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  const mark = page.getByRole("button", { name: /^\d\d:\d\d:\d\d Envoy of front restarted$/ });
  await mark.waitFor();
  expect(await page.locator(".mark").count()).toBe(server.script.history.marks.length);
  // The middle of the strip's height belongs to the slider: marks stand above it.
  await mark.click();
  await page.getByRole("button", { name: "Live", exact: true }).waitFor();
  const [at, moment] = [server.script.history.marks[2]?.at ?? 0, page.getByLabel("Moment that is shown")];
  expect(Math.abs(Number(await moment.inputValue()) - at)).toBeLessThan(2000);
});

test("an action for ten minutes says when it ends by itself, and that it has", async () => {
  await using shown = await openConsole("#changes");
  const { page, server } = shown;
  const change = { action: { kind: "timeout", service: "stock", timeoutMs: 500 }, changes: [], canUndo: true } as const;
  const text = "Callers of stock give up after 500 ms";
  const appliedAt = Date.now() - 60_000;
  const applied = { ...change, id: "a9", text, appliedAt, expiresAt: appliedAt + 600_000, state: "active" } as const;
  server.script.actions = { actions: [applied] };
  server.send("actions");
  await page.getByText(/undone by itself in (9|8) min/).waitFor();
  server.script.actions = { actions: [{ ...applied, state: "expired", canUndo: false, endedAt: Date.now() }] };
  server.send("actions");
  await page.locator(".change-item", { hasText: text }).getByText("expired").waitFor();
  await page.getByText(/undone by itself in/).waitFor({ state: "detached" });
  expect(await page.getByRole("button", { name: "Undo" }).count()).toBe(0);
});

test("programs without Envoy and gateways are cards of their own kind", async () => {
  await using shown = await openConsole();
  const { page, server } = shown;
  const { nodes, edges } = shopGraph();
  const quotes = graphNode("service/quotes", { label: "quotes", kind: "proxyless" });
  server.script.graph = {
    ...shopGraph(),
    nodes: [...nodes, quotes],
    edges: [...edges, graphEdge("service/front", "service/quotes")],
  };
  server.send("graph");
  await card(page, "service/quotes").getByText("gRPC without Envoy").waitFor();
  expect(await card(page, "service/quotes").getAttribute("class")).toContain("card-proxyless");
  expect(await page.locator(".card-gateway .card-name").allTextContents()).toEqual(["ingress"]);
});

test("services are found, hidden, shown again and grouped by namespace", async () => {
  await using shown = await openConsole();
  const { page } = shown;
  await page.keyboard.press("/");
  await page.keyboard.type("v3");
  await expect.poll(() => page.locator(".card.dimmed").count()).toBe(7);
  expect(await card(page, "service/catalogue").getAttribute("class")).not.toContain("dimmed");
  await page.getByLabel("Find").fill("");
  await page.mouse.move(5, 300);
  await card(page, "service/stock").locator(".card-head").click();
  await page.getByRole("button", { name: "Hide", exact: true }).click();
  await card(page, "service/stock").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show 1 hidden" }).click();
  await card(page, "service/stock").waitFor();
  await page.getByRole("button", { name: "Group by namespace" }).click();
  expect((await page.locator(".namespace-name").allTextContents()).sort()).toEqual(["no namespace", "shop"]);
});

test("a workload's panel has its processes, certificates, xDS with the NACK, configuration in words, logs and log levels", async () => {
  await using shown = await openConsole("#workloads/workload/front");
  const { page, server, complaints } = shown;
  const tab = (name: string) => page.getByRole("tab", { name: new RegExp(name) }).click();
  await page.getByText("ended by SIGKILL").waitFor();
  expect(await page.locator('[data-restarts="envoy"]').textContent()).toBe("1");
  await tab("Certificates");
  await page.getByText(/rotates in 7 h/).waitFor();
  await page.getByText(/over CA 198.18.0.1:15012: connection refused 7 times in 60 s, last 4 min ago/).waitFor();
  await tab("xDS");
  await page.getByText("unknown cluster 'outbound|80||gone'").waitFor();
  await tab("Clusters");
  await page.getByText("catalogue v2 port 8480").click();
  await page.getByText("198.18.0.9:8480").waitFor();
  await page.getByText("from ServiceEntry shop/catalogue").waitFor();
  await tab("Listeners");
  await page.getByText("0.0.0.0:15001").waitFor();
  await page.getByText("0.0.0.0:15006").click();
  await page.getByText("mutual TLS port 8480 from PeerAuthentication shop/default").waitFor();
  await tab("Routes");
  await page.getByText("catalogue.shop.svc.cluster.local:8480").click();
  await page.getByText("any request -> catalogue v1 (80%)").waitFor();
  await page.getByText("from VirtualService shop/older (mesh.yaml:24) overruled by").waitFor();
  await tab("DNS");
  await page.getByText("240.240.0.3").waitFor();
  await tab("Capture");
  await page.getByText("All TCP that leaves the program goes to port 15001").waitFor();
  await tab("Logs");
  await page.getByText("Envoy started").waitFor();
  await tab("Log level");
  await page.getByLabel("upstream").selectOption("debug");
  await expect.poll(() => server.posted.at(-1)).toMatchObject({ body: { logger: "upstream", level: "debug" } });
  await tab("Clusters");
  await page.getByText("catalogue v2 port 8480").click();
  await page.getByRole("button", { name: "DestinationRule shop/catalogue" }).click();
  await expect.poll(() => page.getByLabel("YAML", { exact: true }).inputValue()).toContain("kind: DestinationRule");
  expect(complaints).toEqual([]);
});

test("requests are shown as they pass, with the flag in words and the caller", async () => {
  await using shown = await openConsole("#requests");
  const { page } = shown;
  await expect.poll(() => page.locator(".request-table tbody tr").count()).toBe(24);
  await page.getByText("answered by a fault rule").first().waitFor();
  await page.getByText("3 requests passed without being shown").waitFor();
  await page.getByRole("button", { name: "GET /stock" }).first().click();
  await page.getByText("spiffe://cluster.local/ns/shop/sa/front").waitFor();
});

test("it is used by keyboard alone: views, cards, details and back", async () => {
  await using shown = await openConsole();
  const { page } = shown;
  await card(page, "service/stock").locator(".card-head").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "stock" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "shop", exact: true }).waitFor();
  await page.keyboard.press("2");
  await page.getByRole("heading", { name: "Traffic" }).waitFor();
  expect(await page.locator("tbody tr").count()).toBe(shopGraph().edges.length);
});
