import { defineConfig } from "vitest/config";

/** Suites by cost; `npm test` runs all but "slow". Each file gets a process of its own, so that a leak shows where it is made. */
const suite = (name: string, include: string[], extra: Record<string, unknown> = {}) => ({
  extends: true as const,
  test: { name, include, exclude: ["**/*.slow.test.ts", "**/node_modules/**"], ...extra },
});

export default defineConfig({
  // `await using` has to work on Node versions that do not know it.
  oxc: { target: "es2022" },
  test: {
    pool: "forks",
    maxWorkers: 2,
    setupFiles: ["test/support/no-open-handles.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 10, timeout: 10_000 } },
    projects: [
      suite("unit", ["src/**/*.test.ts", "scripts/**/*.test.ts"]),
      suite("conformance", ["test/conformance/**/*.test.ts"]),
      suite("integration", ["test/integration/**/*.test.ts"]),
      suite("e2e", ["e2e/**/*.test.ts"], { testTimeout: 60_000 }),
      suite("slow", ["{src,test,e2e}/**/*.slow.test.ts"], { exclude: ["**/node_modules/**"], testTimeout: 600_000 }),
    ],
  },
});
