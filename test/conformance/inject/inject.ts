import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConformanceCase, ConformanceFamily } from "../family.ts";
import { commandDifference } from "./command-case.ts";
import type { InjectCases } from "./inject-case.ts";
import { vectorCases } from "./vectors.ts";
import { webhookDifference } from "./webhook-case.ts";

/** Injected workloads: the command's text byte by byte, the webhook's patch applied to the pod that was sent, and unit vectors. */
export const inject: ConformanceFamily = {
  name: "inject",
  async load(dir) {
    const { cases, defaults } = JSON.parse(await readFile(join(dir, "cases.json"), "utf8")) as InjectCases;
    const golden = cases.flatMap((entry) =>
      entry.paths.map(
        (path): ConformanceCase => ({
          name: `${entry.id} (${path})`,
          run: () =>
            path === "webhook" ? webhookDifference(dir, entry, defaults) : commandDifference(dir, entry, defaults),
        }),
      ),
    );
    return [...golden, ...(await vectorCases(dir))];
  },
};
