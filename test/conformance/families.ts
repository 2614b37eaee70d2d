import type { ConformanceFamily } from "./family.ts";

/** Every family of golden cases; the test suite and `npm run conformance` know no others. */
export const FAMILIES: readonly ConformanceFamily[] = [];
