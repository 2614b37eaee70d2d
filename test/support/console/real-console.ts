import type { Locator, Page } from "playwright-core";
import type { MeshRun } from "../mesh/run.ts";
import { until } from "../wait/until.ts";
import type { OpenPage, TestBrowser } from "./chromium.ts";

/** A mesh that runs the demo, and a browser to look at it with. */
export interface Shop {
  readonly mesh: MeshRun;
  readonly browser: TestBrowser;
  readonly front: string;
}

export function frontUrl(mesh: MeshRun): string {
  const url = /^\s+front: (http\S+)/m.exec(mesh.output())?.[1];
  if (url === undefined) throw new Error(`no address of the front in ${mesh.output()}`);
  return url;
}

/** The page as its user opens it, by the link with the token, once the graph has figures. */
export async function openConsole({ mesh, browser }: Pick<Shop, "mesh" | "browser">, hash = ""): Promise<OpenPage> {
  const link = mesh.state().console?.link;
  if (link === undefined) throw new Error("the mesh has no console");
  const opened = await browser.open(link);
  if (hash !== "") await opened.page.evaluate(`location.assign(${JSON.stringify(hash)})`);
  await opened.page.waitForSelector("[data-card], table tbody tr, .object-item, [aria-label=Direction]");
  return opened;
}

/** By its name alone: what a screen reader is told about readiness may name any other. */
export function cardHead(page: Page, service: string): Locator {
  return page.locator(".card-head").filter({ has: page.getByText(service, { exact: true }) });
}

/** The buttons of a panel, from the service's card to the written object. */
export async function applyToService(
  page: Page,
  service: string,
  action: string,
  fill: () => Promise<void> = async () => undefined,
): Promise<void> {
  await cardHead(page, service).click();
  await page.locator(".action-head").getByText(action, { exact: true }).click();
  await fill();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".toast-ok").waitFor();
}

/** In the list of changes: the note that offers it at once goes away after a while. */
export async function undoLast(page: Page): Promise<void> {
  await page.getByRole("navigation").getByRole("button", { name: "Changes" }).click();
  await page.locator(".change-active").getByRole("button", { name: "Undo" }).first().click();
  await page.getByText(/^Undone:/).waitFor();
  await page.getByRole("navigation").getByRole("button", { name: "Graph" }).click();
}

/** Which version of the catalogue answered, and how often. */
export async function versionsOf({ front }: Shop, requests: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let done = 0; done < requests; done += 10)
    await Promise.all(
      Array.from({ length: Math.min(10, requests - done) }, async () => {
        const answer = (await (await fetch(front)).json()) as { readonly catalogue: { readonly version?: string } };
        const version = answer.catalogue.version ?? "failed";
        counts[version] = (counts[version] ?? 0) + 1;
      }),
    );
  return counts;
}

export async function untilServed(shop: Shop, version: string): Promise<void> {
  await until(`${version} answers`, async () => (await versionsOf(shop, 10))[version] !== undefined);
}
