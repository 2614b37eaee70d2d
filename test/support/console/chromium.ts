import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM_PATHS, chromiumPath } from "./chromium-path.ts";

/** It talks to nobody by itself, and every page is new. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--force-color-profile=srgb",
  "--host-resolver-rules=MAP rebound.example.com 127.0.0.1",
];

export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
  /** A page of its own, with what the browser complained about. */
  open(url: string, options?: BrowserContextOptions): Promise<OpenPage>;
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors in the browser's console, exceptions, and refusals of the content security policy. */
  readonly complaints: readonly string[];
}

/** A name that is made to resolve to this machine, as a hostile server's is that reaches for what listens here. */
export const REBOUND_NAME = "rebound.example.com";

export async function startChromium(): Promise<TestBrowser> {
  const program = chromiumPath();
  if (program === undefined) throw new Error(`no Chromium at ${CHROMIUM_PATHS.join(", ")}`);
  const home = await mkdtemp(join(tmpdir(), "chromium-"));
  const browser = await chromium.launch({
    executablePath: program,
    headless: true,
    args: FLAGS,
    env: { ...(process.env as Record<string, string>), HOME: home },
  });
  return {
    browser,
    async open(url, options = {}) {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        // Without a graphics card every moving dot is the processor's work; tests that look at motion say so.
        reducedMotion: "reduce",
        ...options,
      });
      // As long as other conditions of tests are waited for: a browser beside three other test files is slow.
      context.setDefaultTimeout(45_000);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(url);
      return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
