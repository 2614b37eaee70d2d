import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

/** Suites by cost; `npm test` runs all but "slow". */
const suite = (name: string, include: string[], extra: Record<string, unknown> = {}) => ({
  extends: true as const,
  test: { name, include, exclude: ["**/*.slow.test.ts", "**/node_modules/**"], ...extra },
});

/** Files that share a process save its start and the loading of modules; no-open-handles.ts looks for leaks after each of them. */
const shared = { isolate: false };

export default defineConfig({
  // `await using` has to work on Node versions that do not know it.
  oxc: { target: "es2022" },
  test: {
    pool: "forks",
    // One more than the cores of the smallest machine: much of a test is waiting. With two more, a test with several meshes waited for seconds.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/no-open-handles.ts"],
    // Longer than any wait inside, whose error says more.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 10, timeout: 45_000 } },
    projects: [
      suite("unit", ["{src,web,scripts,image}/**/*.test.ts"], shared),
      suite("conformance", ["test/conformance/**/*.test.ts"], shared),
      suite("integration", ["test/integration/**/*.test.ts"], { ...shared, testTimeout: 120_000 }),
      suite("e2e", ["e2e/**/*.test.ts"], { ...shared, testTimeout: 180_000 }),
      // Each file starts an API server; the start takes seconds, and more where several start at once.
      suite("kubernetes", ["test/kubernetes/**/*.test.ts"], { ...shared, testTimeout: 120_000, hookTimeout: 180_000 }),
      // One cluster per machine, which all tests share.
      suite("cluster", ["test/cluster/**/*.test.ts"], { ...shared, testTimeout: 300_000, hookTimeout: 600_000 }),
      suite("slow", ["{src,test,e2e}/**/*.slow.test.ts"], { exclude: ["**/node_modules/**"], testTimeout: 600_000 }),
    ],
  },
});
