import { expect, test } from "vitest";
import { startChromium } from "../test/support/console/chromium.ts";
import { applyToService, frontUrl, openConsole, type Shop } from "../test/support/console/real-console.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const shop = sharedPlace<Shop>(["chromium", "envoy", "netns", "iptables"], async (opened) => {
  const mesh = opened.add(startMeshRun());
  const browser = opened.add(await startChromium());
  await mesh.untilUp();
  return { mesh, browser, front: frontUrl(mesh) };
});

const STOPPED_MS = 60_000;

test("a control plane that is stopped for a minute costs no request, and the page says that it is away", async () => {
  const { front } = shop();
  await using opened = await openConsole(shop());
  const { page, complaints } = opened;
  await page.getByRole("button", { name: "Stop the control plane", exact: true }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("The control plane is stopped").waitFor();
  const stoppedAt = performance.now();
  const failures: string[] = [];
  let asked = 0;
  // On a slow machine the outage is longer, which is as good.
  while (performance.now() - stoppedAt < STOPPED_MS || asked < 100) {
    const answer = await fetch(front);
    const body = (await answer.json()) as Readonly<Record<string, { readonly error?: string } | string>>;
    for (const part of Object.values(body))
      if (typeof part === "object" && part.error !== undefined) failures.push(part.error);
    asked += 1;
  }
  expect(failures).toEqual([]);
  await page.getByText(/The control plane is stopped since \d+ (s|min)/).waitFor();
  await page.getByText(/Traffic goes on/).waitFor();
  expect(await page.locator(".card.failing").count()).toBe(0);
  await page.getByRole("button", { name: "Start the control plane", exact: true }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("control plane running").waitFor();
  await page.getByText("The control plane is stopped").waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
});

test("an action for a minute is in force for that long and then undone by itself, also with the page closed", async () => {
  const stockError = async () =>
    ((await (await fetch(shop().front)).json()) as { readonly stock: { readonly error?: string } }).stock.error;
  {
    await using opened = await openConsole(shop());
    const { page } = opened;
    await applyToService(page, "stock", "Abort", async () => {
      await page.getByLabel("Of requests").fill("100");
      await page.getByLabel("For how long").selectOption({ label: "for 1 minute" });
    });
    await until("the stock fails", async () => (await stockError()) !== undefined);
  }
  await until("the stock answers again", async () => (await stockError()) === undefined, 120_000);
  await using again = await openConsole(shop());
  await again.page.getByRole("navigation").getByRole("button", { name: "Changes" }).click();
  await again.page.locator(".change-item", { hasText: "stock" }).first().getByText("expired").waitFor();
});
