import { compareClusters } from "./clusters.ts";
import type { Difference } from "./difference.ts";
import { compareEndpoints } from "./endpoints.ts";
import type { Answers } from "./generate-answers.ts";
import type { GoldenCase } from "./golden-cases.ts";
import { text } from "./json.ts";
import { compareListeners } from "./listeners.ts";
import { compareNameTable } from "./name-table.ts";
import { compareRoutes } from "./routes.ts";

type Expected = Pick<GoldenCase, "clusters" | "endpoints" | "listeners" | "routes" | "nameTable" | "context">;

/** Every difference of a whole case that is not accepted. */
export function compareCase(golden: Expected, ours: Answers): readonly Difference[] {
  const { context } = golden;
  const namesOf = (clusters: Answers["clusters"]) => new Set(clusters.map(({ name }) => text(name)));
  const clusters = { golden: namesOf(golden.clusters), ours: namesOf(ours.clusters) };
  return [
    ...ours.problems.map((problem) => ({ path: "problem", golden: undefined, ours: problem })),
    ...compareClusters(golden.clusters, ours.clusters, context),
    ...compareEndpoints(golden.endpoints, ours.endpoints),
    ...compareListeners(golden.listeners, ours.listeners, { context, clusters, routes: ours.routes }),
    ...compareRoutes(golden.routes, ours.routes, context, clusters),
    ...(golden.nameTable === undefined ? [] : compareNameTable(golden.nameTable, ours.nameTable ?? {}, context)),
  ];
}
