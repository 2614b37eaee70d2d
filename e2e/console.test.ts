import { request as httpRequest } from "node:http";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { ActionList, ObjectDetail } from "../src/console/api.ts";
import { startChromium } from "../test/support/console/chromium.ts";
import {
  applyToService,
  frontUrl,
  openConsole,
  type Shop,
  undoLast,
  untilServed,
  versionsOf,
} from "../test/support/console/real-console.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

/** The demo's shop as a user starts it, and a browser beside it. Every test leaves the rules as it found them. */
const shop = sharedPlace<Shop>(["chromium", "envoy", "netns", "iptables"], async (opened) => {
  const mesh = opened.add(startMeshRun());
  const browser = opened.add(await startChromium());
  await mesh.untilUp();
  return { mesh, browser, front: frontUrl(mesh) };
});

const stock = (page: Page) => page.locator(".card", { hasText: "stock" });

test("the slider at 80 and 20 changes the measured split within five seconds, and undo takes it back", async () => {
  await using opened = await openConsole(shop());
  const { page, complaints } = opened;
  expect(await page.locator(".card-name").allTextContents()).toEqual(
    expect.arrayContaining(["load", "front", "catalogue", "stock", "prices"]),
  );
  await applyToService(page, "catalogue", "Shift versions", async () => {
    await page.getByLabel("Share of v2 in percent").fill("20");
    await expect.poll(() => page.locator(".diff-added").count()).toBeGreaterThan(0);
  });
  const applied = performance.now();
  await untilServed(shop(), "v2");
  expect(performance.now() - applied).toBeLessThan(5000);
  const split = await versionsOf(shop(), 200);
  // Of 200 requests with a share of a fifth; five standard deviations are 28.
  expect(split.v2).toBeGreaterThan(12);
  expect(split.v2).toBeLessThan(68);
  await expect.poll(async () => share(page, 1)).toBeGreaterThan(5);
  await undoLast(page);
  await until("v1 alone", async () => Object.keys(await versionsOf(shop(), 30)).join() === "v1");
  expect(complaints).toEqual([]);
});

const share = async (page: Page, row: number) =>
  Number.parseInt((await page.locator(".row-share").nth(row).textContent()) ?? "", 10);

test("a fault shows up in the graph and goes when it is undone", async () => {
  await using opened = await openConsole(shop());
  const { page } = opened;
  await applyToService(page, "stock", "Abort", async () => {
    await page.getByLabel("Of requests").fill("60");
  });
  await expect.poll(() => stock(page).getAttribute("class")).toContain("failing");
  await undoLast(page);
  await expect.poll(() => stock(page).getAttribute("class")).not.toContain("failing");
});

test("a killed Envoy is restarted and counted, and traffic recovers", async () => {
  await using opened = await openConsole(shop(), "#workloads");
  const { page } = opened;
  await page.locator("th").getByRole("button", { name: "stock" }).click();
  const restarts = page.locator('[data-restarts="envoy"]');
  await expect.poll(() => restarts.textContent()).toBe("0");
  await page.getByRole("button", { name: "Kill Envoy" }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await expect.poll(() => restarts.textContent()).toBe("1");
  await expect.poll(() => page.locator(".panel").textContent()).toMatch(/Restarts\s*envoy.*killed/i);
  await until("twenty answers of the stock in a row", async () => {
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await (await fetch(shop().front)).json()) as { stock: { error?: string } },
      ),
    );
    return answers.find((answer) => answer.stock.error !== undefined)?.stock.error ?? true;
  });
});

test("a ramp that meets errors returns by itself, and says why", async () => {
  const { mesh } = shop();
  await using opened = await openConsole(shop());
  const { page } = opened;
  expect((await mesh.cli("stop", "catalogue-v3/app")).code).toBe(0);
  await applyToService(page, "catalogue", "Ramp up a version", async () => {
    await page.getByLabel("To version").selectOption("v3");
    await page.getByLabel("Each step").fill("3000");
    await page.getByLabel("Requests to decide by").fill("3");
    await page.getByLabel("Steps in %").fill("40, 100");
  });
  await page.getByRole("navigation").getByRole("button", { name: "Changes" }).click();
  await page.getByText("returned by itself").waitFor();
  const { actions } = (await page.evaluate("fetch('/api/actions').then((answer) => answer.json())")) as ActionList;
  expect(actions[0]).toMatchObject({
    state: "returned",
    reason: expect.stringMatching(/requests to v3 failed at 40%/),
  });
  expect((await mesh.cli("start", "catalogue-v3/app")).code).toBe(0);
  await until("v1 alone", async () => Object.keys(await versionsOf(shop(), 20)).join() === "v1");
});

test("YAML with a mistake is refused at its line by the real control plane's rules, and written when it is right", async () => {
  await using opened = await openConsole(shop(), "#objects");
  const { page } = opened;
  await page.locator(".object-item", { hasText: "catalogue" }).last().click();
  const area = page.getByLabel("YAML", { exact: true });
  await expect.poll(() => area.inputValue()).toContain("VirtualService");
  const right = await area.inputValue();
  const line = right.split("\n").findIndex((text) => text.includes("http:")) + 2;
  await area.fill(right.replace(/(\s*http:\n\s*-) /, "$1 timeout: soon\n    "));
  await page.locator(`[data-line="${line}"].line-error`).waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("alert").waitFor();
  await area.fill(right.replace(/(\s*http:\n\s*-) /, "$1 timeout: 4s\n    "));
  await page.locator(".line-error").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".toast-ok").waitFor();
  const path = "/api/objects/VirtualService/shop/catalogue";
  const written = (await page.evaluate(`fetch('${path}').then((answer) => answer.json())`)) as ObjectDetail;
  expect(written.yaml).toContain("timeout: 4s");
  await page.evaluate(`fetch('${path}', { method: 'DELETE' }).then((answer) => answer.json())`);
});

test("the shop's front is a page: what it sells, who answered, as whom it was asked, and the way to the console", async () => {
  const { browser, mesh, front } = shop();
  await using opened = await browser.open(front);
  const { page, complaints } = opened;
  await page.getByText("saw the caller as spiffe://cluster.local/ns/shop/sa/front").first().waitFor();
  await page.getByText("version v1").waitFor();
  const link = await page.getByRole("link", { name: "Open the console" }).getAttribute("href");
  expect(mesh.state().console?.link.startsWith(link ?? "none")).toBe(true);
  expect(complaints).toEqual([]);
});

test("a wrong token, a foreign Host and a foreign Origin are refused", async () => {
  const { mesh, browser } = shop();
  const { url, link } = mesh.state().console ?? { url: "", link: "" };
  await using stranger = await browser.open(`${url}?token=wrong`);
  await expect.poll(() => stranger.page.locator("body").textContent()).toMatch(/token|link/);
  const status = (headers: Record<string, string>, path = "/api/session") =>
    new Promise<number>((resolve, reject) => {
      const asked = httpRequest(new URL(path, url), { headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.once("error", reject).end();
    });
  expect(await status({})).toBe(401);
  expect(await status({ host: "evil.example.com" })).toBe(403);
  expect(await status({ origin: "http://evil.example.com" })).toBe(403);
  expect(await status({ host: "evil.example.com" }, new URL(link).search)).toBe(403);
});
