import { readFileSync, rmSync } from "node:fs";
import { expect } from "vitest";
import { REBOUND_NAME, type TestBrowser } from "./chromium.ts";

/** The file that the log of `proxy --console` and `discovery --console` names. */
export function linkFileOf(log: string): string {
  const file = /the console is served\t.*linkWithToken=(\S+)/.exec(log)?.[1];
  if (file === undefined) throw new Error(`no console in the log: ${log.slice(-2000)}`);
  return file;
}

/** The link with its token; the file is gone then. */
export function takeLink(log: string): string {
  const file = linkFileOf(log);
  const link = readFileSync(file, "utf8").trim();
  rmSync(file);
  return link;
}

/** Neither a wrong token nor a name that is made to resolve to this machine gets a browser in, the latter not even with the right token. */
export async function expectStrangersRefused(browser: TestBrowser, link: string): Promise<void> {
  const { origin, port, search } = new URL(link);
  const saidTo = async (url: string) => {
    await using stranger = await browser.open(url);
    return await stranger.page.locator("body").textContent();
  };
  expect(await saidTo(`${origin}/?token=wrong`)).toContain("the token is not the one of this console");
  expect(await saidTo(`http://${REBOUND_NAME}:${port}/${search}`)).toContain(REBOUND_NAME);
  await using without = await browser.open(origin);
  await without.page.getByText("This page needs its link").waitFor();
}
