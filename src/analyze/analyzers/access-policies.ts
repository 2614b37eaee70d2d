import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import { selectorText } from "../selectors.ts";
import { isInMesh } from "./injection.ts";
import { isAmbientPod } from "./workload-selectors.ts";

/** Policies that reach no workload, or name namespaces that do not exist. */
export function authorizationPolicies(mesh: AnalyzedMesh, report: ReportFinding): void {
  const isReached = (pod: AnalyzedObject) => isInMesh(mesh, pod) || isAmbientPod(pod);
  for (const { document, rule } of mesh.rules("AuthorizationPolicy")) {
    checkWorkloads(mesh, isReached, document, rule.spec.selector?.matchLabels, report);
    rule.spec.rules.forEach(({ from }, at) => {
      from.forEach(({ source }, index) => {
        const path = ["spec", "rules", at, "from", index, "source"];
        const named = [...(source?.namespaces ?? []), ...(source?.notNamespaces ?? [])];
        for (const name of named) {
          if (mesh.named("Namespace", "", name) !== undefined) continue;
          if (mesh.of("Namespace").some((namespace) => isMatch(name, namespace.name))) continue;
          report("ReferencedResourceNotFound", document, `namespace not found: ${JSON.stringify(name)}`, path);
        }
      });
    });
  }
}

function checkWorkloads(
  mesh: AnalyzedMesh,
  isReached: (pod: AnalyzedObject) => boolean,
  document: AnalyzedObject,
  selector: Readonly<Record<string, string>> | undefined,
  report: ReportFinding,
): void {
  const isMeshWide = document.namespace === mesh.settings.rootNamespace;
  if (isMeshWide && selector === undefined) return;
  const pods = isMeshWide ? mesh.podsWith(selector ?? {}) : mesh.podsWith(selector ?? {}, document.namespace);
  if (pods.some(isReached)) return;
  const which = selector === undefined ? `in namespace ${document.namespace}` : `with labels ${selectorText(selector)}`;
  report("NoMatchingWorkloadsFound", document, `no workload of the mesh ${which}`, ["spec", "selector"]);
}

function isMatch(pattern: string, name: string): boolean {
  if (pattern.startsWith("*")) return name.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return name.startsWith(pattern.slice(0, -1));
  return pattern.toLowerCase() === name.toLowerCase();
}

/** Policies that lock out every caller. Those without rules are warned of when they are validated. */
export function extremePolicies(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { document, rule } of mesh.rules("AuthorizationPolicy")) {
    const { action, rules } = rule.spec;
    rules.forEach(({ from, to, when }, at) => {
      if (action !== "DENY" || from.length + to.length + when.length > 0) return;
      const message = "a DENY rule without conditions refuses every request";
      report("AccessDeniedToEverybody", document, message, ["spec", "rules", at]);
    });
  }
}
