import { groupBy } from "../../mesh-model/lists.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { MessageName, ReportFinding } from "../finding.ts";
import { createSelectorIndex } from "../label-index.ts";
import { namesOf, namespaceOf, selectorText } from "../selectors.ts";

type Labels = Readonly<Record<string, string>>;

interface Selecting {
  readonly document: AnalyzedObject;
  readonly selector: Labels;
}

interface SelectingKind {
  readonly title: string;
  readonly path: readonly string[];
  readonly samePod: MessageName;
  readonly sameNamespace: MessageName;
}

const SIDECAR: SelectingKind = {
  title: "Sidecars",
  path: ["spec", "workloadSelector"],
  samePod: "ConflictingSidecarWorkloadSelectors",
  sameNamespace: "MultipleSidecarsWithoutWorkloadSelectors",
};
const TELEMETRY: SelectingKind = {
  title: "Telemetries",
  path: ["spec", "selector"],
  samePod: "ConflictingTelemetryWorkloadSelectors",
  sameNamespace: "MultipleTelemetriesWithoutWorkloadSelectors",
};

export function sidecarSelectors(mesh: AnalyzedMesh, report: ReportFinding): void {
  const all = mesh.rules("Sidecar").map(({ document, rule }) => ({
    document,
    selector: rule.spec.workloadSelector?.labels ?? {},
  }));
  const others = all.filter((one) => !reportAmbient(mesh, one, report));
  checkChosen(mesh, others.filter(hasSelector), SIDECAR, report);
  checkDefaults(
    others.filter((one) => !hasSelector(one)),
    SIDECAR,
    report,
  );
}

export function telemetrySelectors(mesh: AnalyzedMesh, report: ReportFinding): void {
  checkChosen(mesh, telemetries(mesh).filter(hasSelector), TELEMETRY, report);
}

export function telemetryDefaults(mesh: AnalyzedMesh, report: ReportFinding): void {
  checkDefaults(
    telemetries(mesh).filter((one) => !hasSelector(one)),
    TELEMETRY,
    report,
  );
}

function telemetries(mesh: AnalyzedMesh): readonly Selecting[] {
  return mesh.rules("Telemetry").map(({ document, rule }) => ({
    document,
    selector: rule.spec.selector?.matchLabels ?? {},
  }));
}

function hasSelector({ selector }: Selecting): boolean {
  return Object.keys(selector).length > 0;
}

/** Objects for certain pods: there must be some, and no other object for the same. */
function checkChosen(mesh: AnalyzedMesh, all: readonly Selecting[], kind: SelectingKind, report: ReportFinding): void {
  const rivalsFor = createSelectorIndex(all, ({ document, selector }) => ({ namespace: document.namespace, selector }));
  for (const one of all) {
    const { document, selector } = one;
    const pods = mesh.podsWith(selector, document.namespace);
    if (pods.length === 0) {
      const message = `selector not found: ${JSON.stringify(selectorText(selector))}: no pod of namespace ${document.namespace} has these labels`;
      report("ReferencedResourceNotFound", document, message, kind.path);
      continue;
    }
    for (const pod of pods) {
      const rivals = rivalsFor(pod.labels, document.namespace);
      if (rivals.length < 2) continue;
      const names = namesOf(rivals.map((rival) => rival.document));
      const message = `the ${kind.title} ${names} select the same pod ${pod.name}: only the oldest counts`;
      report(kind.samePod, document, message, kind.path);
      break;
    }
  }
}

/** Objects for a whole namespace: the oldest counts, the others have no effect. */
function checkDefaults(all: readonly Selecting[], kind: SelectingKind, report: ReportFinding): void {
  const byNamespace = groupBy(all, ({ document }) => document.namespace);
  for (const { document } of all) {
    const rivals = byNamespace.get(document.namespace) ?? [];
    if (rivals.length < 2) continue;
    const names = namesOf(rivals.map((rival) => rival.document));
    const message = `the ${kind.title} ${names} have no workload selector: only the oldest counts`;
    report(kind.sameNamespace, document, message);
  }
}

const INEFFECTIVE = "there is no sidecar in ambient mode: a Sidecar object has no effect";

function reportAmbient(mesh: AnalyzedMesh, one: Selecting, report: ReportFinding): boolean {
  const { document, selector } = one;
  const isAmbient = hasSelector(one)
    ? mesh.podsWith(selector, document.namespace).some(isAmbientPod)
    : isAmbientNamespace(namespaceOf(mesh, document.namespace));
  if (isAmbient) report("IneffectivePolicy", document, INEFFECTIVE);
  return isAmbient;
}

export function isAmbientPod({ annotations }: AnalyzedObject): boolean {
  return annotations["ambient.istio.io/redirection"] === "enabled";
}

function isAmbientNamespace(namespace: AnalyzedObject | undefined): boolean {
  if (namespace === undefined) return false;
  const { labels } = namespace;
  const isInjected = labels["istio-injection"] === "enabled" || (labels["istio.io/rev"] ?? "") !== "";
  return !isInjected && labels["istio.io/dataplane-mode"] === "ambient";
}
