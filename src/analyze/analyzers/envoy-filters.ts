import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { AnalyzedMesh } from "../analyzed-mesh.ts";
import type { MessageName, ReportFinding } from "../finding.ts";

const RELATIVE: ReadonlySet<string> = new Set(["INSERT_BEFORE", "INSERT_AFTER"]);
const ROUTES: ReadonlySet<string> = new Set(["ROUTE_CONFIGURATION", "HTTP_ROUTE"]);
const REPLACEABLE: ReadonlySet<string> = new Set(["NETWORK_FILTER", "HTTP_FILTER", "VIRTUAL_HOST"]);

/** Patches that depend on the order in which others are applied, and operations that a kind of target does not have. */
export function envoyFilterPatches(mesh: AnalyzedMesh, report: ReportFinding): void {
  const forVersions = new Set<string>();
  for (const { document, rule } of mesh.rules("EnvoyFilter")) {
    rule.spec.configPatches.forEach(({ applyTo, match, patch }, at) => {
      const operation = patch?.operation ?? "INVALID";
      const name = targetName(fields(patch?.value), match);
      const path = ["spec", "configPatches", at];
      const tell = (finding: MessageName, message: string) => report(finding, document, message, path);
      if (ROUTES.has(applyTo) && operation === "ADD") {
        tell("EnvoyFilterUsesAddOperationIncorrectly", `operation ADD has no effect on ${applyTo}`);
      } else if (ROUTES.has(applyTo) && operation === "REMOVE") {
        tell("EnvoyFilterUsesRemoveOperationIncorrectly", `operation REMOVE has no effect on ${applyTo}`);
      } else if (operation === "REPLACE" && !REPLACEABLE.has(applyTo)) {
        const message = `operation REPLACE has no effect on ${applyTo}; it works on ${[...REPLACEABLE].join(", ")}`;
        tell("EnvoyFilterUsesReplaceOperationIncorrectly", message);
      } else if (
        rule.spec.priority === 0 &&
        (RELATIVE.has(operation) || operation === "REMOVE" || operation === "REPLACE")
      ) {
        const why = `operation ${operation} depends on what other patches have done before; set a priority, or use INSERT_FIRST or ADD`;
        if (forVersions.has(name))
          tell(
            "EnvoyFilterUsesRelativeOperationWithProxyVersion",
            `${why}; the same filter is patched for certain proxy versions`,
          );
        else tell("EnvoyFilterUsesRelativeOperation", why);
      }
      if ((match?.proxy?.proxyVersion ?? "") !== "") forVersions.add(name);
    });
  }
}

function targetName(value: Readonly<Record<string, unknown>>, match: unknown): string {
  if (value.name !== undefined) return textOf(value.name);
  const { filterChain } = fields(fields(match).listener);
  return textOf(fields(fields(filterChain).filter).name);
}
