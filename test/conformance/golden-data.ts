import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { skipWith } from "../support/skip-with.ts";
import { type GoldenCase, readGoldenCases } from "./discovery/golden-cases.ts";

/** Golden data lives outside the project. */
const root = process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../shared/conformance");

/** A folder or file of the golden data; it may be absent. */
export function goldenPath(...parts: readonly string[]): string {
  return join(root, ...parts);
}

/** Captured answers of the reference control plane; none where the data is absent. */
export function discoveryCases(): readonly GoldenCase[] {
  return existsSync(goldenPath("discovery")) ? readGoldenCases(goldenPath("discovery")) : [];
}

/** Without the data there is nothing to compare: a notice, not a failure. */
export function needsGoldenData(context: TestContext, path: string): void {
  if (!existsSync(path)) skipWith(context, `notice: no golden cases at ${path} (set CONFORMANCE_DIR)`);
}
