import { expect, test } from "vitest";
import { reportedVersion } from "./bootstrap.ts";
import { GENERATIONS, generationRules } from "./generations.ts";

test.each(GENERATIONS)(
  "the version of generation %s begins with a release that a control plane can compare",
  (name) => {
    const [, major, minor, patch] =
      /^(\d+)\.(\d+)\.(\d+)-pilot-agent\./.exec(reportedVersion(generationRules(name).release)) ?? [];
    expect([major, patch]).toEqual(["1", "0"]);
    if (name !== "master") expect(`${major}.${minor}`).toBe(name);
    // Newer than every release that a generation stands for.
    else expect(Number(minor)).toBeGreaterThan(20);
  },
);
