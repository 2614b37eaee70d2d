import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readAppProbers } from "../../src/status/core/app-probers.ts";
import { STATUS_RULES } from "../../src/status/core/generations.ts";
import { readScrapeTargets } from "../../src/status/core/scrape-targets.ts";
import { goldenPath, needsGoldenData } from "../conformance/golden-data.ts";

const file = goldenPath("inject/vectors.json");

interface Vectors {
  readonly prometheus_merge: readonly { readonly want_env?: string | null }[];
  readonly app_probers: readonly { readonly want_env: Record<string, unknown> }[];
}

test("what injection writes for probes and scraping is understood here", (context) => {
  needsGoldenData(context, file);
  const vectors = JSON.parse(readFileSync(file, "utf8")) as Vectors;
  let scrapes = 0;
  for (const { want_env: env } of vectors.prometheus_merge) {
    if (typeof env !== "string") continue;
    const value = JSON.parse(env) as { targets: { port: string; path: string }[] };
    const want = value.targets.map(({ port, path }) => ({ port: Number(port), path }));
    expect(readScrapeTargets(value, 15020)).toEqual(want);
    scrapes++;
  }
  expect(scrapes).toBeGreaterThan(0);
  for (const { want_env: env } of vectors.app_probers) {
    const probers = readAppProbers(env, STATUS_RULES.master.probers);
    expect([...probers.keys()]).toEqual(Object.keys(env));
  }
});
