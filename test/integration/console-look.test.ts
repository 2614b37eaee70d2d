import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startChromium } from "../support/console/chromium.ts";
import { generatedGraph, shopScript } from "../support/console/mesh-scripts.ts";
import { startScriptedConsole } from "../support/console/scripted-console.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const place = sharedPlace(["chromium"], async (opened) => {
  const server = opened.add(await startScriptedConsole(shopScript()));
  const browser = opened.add(await startChromium());
  return { server, browser };
});

const VIEWS = [
  "#graph",
  "#graph/node/service%2Fcatalogue",
  "#graph/edge/service%2Ffront%3Eservice%2Fstock",
  "#traffic",
  "#workloads/workload/front",
  "#objects",
  "#requests",
  "#changes",
];
const READY = "[data-card], table tbody tr, .object-item, .change-list, .empty";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core calls serious or critical, with the element and the reason. */
async function seriousProblems(page: Page, rules: object = {}): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const results = (await page.evaluate(`axe.run(document, ${JSON.stringify(rules)})`)) as AxeResults;
  return results.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary ?? ""}`));
}

/** All rules once; with other colours only contrast can differ. */
const LOOKS = [
  { title: "in dark colours", colorScheme: "dark" as const, rules: {} },
  { title: "in light colours", colorScheme: "light" as const, rules: { runOnly: ["color-contrast"] } },
];

test.each(LOOKS)("axe-core finds nothing serious in any view $title", async ({ colorScheme, rules }) => {
  const { browser, server } = place();
  await using opened = await browser.open(`${server.url}#graph`, { colorScheme });
  const { page } = opened;
  for (const view of VIEWS) {
    await page.evaluate(`location.assign(${JSON.stringify(view)})`);
    await page.waitForSelector(READY);
    if (view.includes("catalogue")) await page.getByRole("button", { name: "Shift versions" }).click();
    if (view === "#objects") await page.locator(".object-item", { hasText: "stock" }).click();
    expect(await seriousProblems(page, rules), view).toEqual([]);
  }
  expect(opened.complaints).toEqual([]);
});

test("in a narrow window nothing sticks out at the side, and what is pressed has its name", async () => {
  const { browser, server } = place();
  await using opened = await browser.open(`${server.url}#graph`, { viewport: { width: 390, height: 844 } });
  const { page } = opened;
  for (const view of VIEWS) {
    await page.evaluate(`location.assign(${JSON.stringify(view)})`);
    await page.waitForSelector(READY);
    expect(await page.evaluate("document.documentElement.scrollWidth"), view).toBeLessThanOrEqual(390);
    expect(await seriousProblems(page, { runOnly: ["button-name", "label", "select-name"] }), view).toEqual([]);
  }
});

test("sixty services with two hundred edges that change every second are drawn above thirty frames a second", async () => {
  const { browser, server } = place();
  const before = server.script.graph;
  server.script.graph = generatedGraph(60, 200);
  await using opened = await browser.open(server.url, { reducedMotion: "no-preference" });
  const { page } = opened;
  await expect.poll(() => page.locator("[data-card]").count()).toBe(60);
  const cdp = await opened.context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const cost = async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    const frames = (await page.evaluate("document.querySelector('.graph-frame').drawnFrames.count")) as number;
    return { seconds: metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0, frames, at: performance.now() };
  };
  // The best of several seconds: the machine may be busy with other tests, the page is not slower for that.
  let best = { perSecond: 0, busyPerFrame: 1 };
  await until("thirty frames in one second", async () => {
    const first = await cost();
    server.script.graph = generatedGraph(60, 200, first.frames);
    server.send("graph");
    await page.waitForTimeout(1000);
    const last = await cost();
    const frames = last.frames - first.frames;
    const perSecond = (frames / (last.at - first.at)) * 1000;
    if (perSecond > best.perSecond) best = { perSecond, busyPerFrame: (last.seconds - first.seconds) / frames };
    return best.perSecond > 30 ? undefined : `${best.perSecond.toFixed(1)} frames`;
  });
  // Processor time of the page's own thread, which says how many frames there could be.
  expect(1 / best.busyPerFrame).toBeGreaterThan(30);
  server.script.graph = before;
});

const root = resolve(import.meta.dirname, "../..");

/** `SCREENSHOTS=docs npx vitest run --project integration console-look` writes those of the documentation again. */
async function screenshotFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  if (process.env.SCREENSHOTS !== "docs") return temporaryFolder();
  const path = join(root, "docs/console");
  await mkdir(path, { recursive: true });
  return { path, [Symbol.asyncDispose]: async () => undefined };
}

test("pictures of the page: dark, light, narrow, an action, the editor", async () => {
  const { browser, server } = place();
  await using folder = await screenshotFolder();
  const picture = async (
    name: string,
    hash: string,
    options: Parameters<typeof browser.open>[1],
    act: (page: Page) => Promise<void> = async () => undefined,
  ) => {
    await using opened = await browser.open(`${server.url}${hash}`, { reducedMotion: "no-preference", ...options });
    await opened.page.waitForSelector(READY);
    await act(opened.page);
    // Fonts, the first frame of the canvases and the last of the transitions.
    await opened.page.waitForTimeout(700);
    const path = join(folder.path, `${name}.png`);
    await opened.page.screenshot({ path });
    // A page that shows nothing compresses to less.
    expect(readFileSync(path).length, name).toBeGreaterThan(25_000);
  };
  await picture("graph-dark", "#graph", { colorScheme: "dark" });
  await picture("graph-light", "#graph/edge/service%2Ffront%3Eservice%2Fstock", { colorScheme: "light" });
  await picture("shift", "#graph/node/service%2Fcatalogue", { colorScheme: "dark" }, async (page) => {
    await page.getByRole("button", { name: "Shift versions" }).click();
    await page.getByLabel("Share of v2 in percent").fill("50");
    await page.locator(".diff-added").first().waitFor();
  });
  await picture("workload", "#workloads/workload/front", { colorScheme: "light" });
  await picture("editor", "#objects", { colorScheme: "dark" }, async (page) => {
    await page.locator(".object-item", { hasText: "catalogue" }).last().click();
    const area = page.getByLabel("YAML", { exact: true });
    await expect.poll(() => area.inputValue()).toContain("timeout: 2s");
    await area.fill((await area.inputValue()).replace("timeout: 2s", "timeout: soon"));
    await page.locator(".line-error").waitFor();
  });
  await picture("narrow", "#graph", {
    colorScheme: "dark",
    viewport: { width: 390, height: 780 },
    deviceScaleFactor: 1.5,
  });
});
