import { fields, labelsOf, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { matchesLabelSelector } from "../../mesh-model/selector.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";

const REVISION = "istio.io/rev";
const NAMESPACE_LABELS: readonly Labels[] = [{}, { "istio-injection": "enabled" }, { "istio-injection": "disabled" }];
const OBJECT_LABELS: readonly Labels[] = [
  {},
  { "sidecar.istio.io/inject": "true" },
  { "sidecar.istio.io/inject": "false" },
];

type Labels = Readonly<Record<string, string>>;

interface Hook {
  readonly owner: AnalyzedObject;
  readonly title: string;
  readonly hook: Readonly<Record<string, unknown>>;
}

/** Injection webhooks that take the same pods, or lead to no control plane. */
export function injectionWebhooks(mesh: AnalyzedMesh, report: ReportFinding): void {
  const owners = mesh
    .of("MutatingWebhookConfiguration")
    .filter((owner) => isIstio(owner) || revisionsOf(owner).length > 0);
  const hooks = owners.flatMap((owner) =>
    listOf(owner.body.webhooks).map((hook) => ({ owner, title: `${owner.name}/${textOf(hook.name)}`, hook })),
  );
  const revisions = [...new Set(owners.flatMap(revisionsOf))];
  const withRevisions = (base: readonly Labels[]) => [
    ...base,
    ...revisions.flatMap((revision) => base.map((labels) => ({ ...labels, [REVISION]: revision }))),
  ];
  const overlaps = new Map<Hook, Set<string>>();
  for (const namespace of withRevisions(NAMESPACE_LABELS)) {
    for (const object of withRevisions(OBJECT_LABELS)) {
      const taking = hooks.filter(
        ({ hook }) =>
          matchesLabelSelector(hook.namespaceSelector, namespace) && matchesLabelSelector(hook.objectSelector, object),
      );
      if (taking.length < 2) continue;
      for (const one of taking) {
        const known = overlaps.get(one) ?? new Set();
        for (const { title } of taking) if (title !== one.title) known.add(title);
        overlaps.set(one, known);
      }
    }
  }
  for (const [{ owner, title }, others] of overlaps) {
    const message = `webhook ${title} takes the same pods as ${[...others].sort().join(", ")}: they would be injected twice`;
    report("InvalidWebhook", owner, message, ["webhooks"]);
  }
  for (const { owner, title, hook } of hooks) {
    const { name, namespace } = fields(fields(hook.clientConfig).service);
    if (name === undefined) continue;
    const exists = mesh.named("Service", textOf(namespace), textOf(name)) !== undefined;
    if (exists) continue;
    const message = `webhook ${title} leads to service ${textOf(namespace)}/${textOf(name)}, which does not exist`;
    report("InvalidWebhook", owner, message, ["webhooks"]);
  }
}

function isIstio({ body }: AnalyzedObject): boolean {
  return listOf(body.webhooks).some(({ name }) => textOf(name).endsWith("istio.io"));
}

function revisionsOf({ labels, body }: AnalyzedObject): readonly string[] {
  const named = labels[REVISION];
  const selected = listOf(body.webhooks)
    .flatMap(({ namespaceSelector, objectSelector }) => [namespaceSelector, objectSelector])
    .flatMap((selector) => {
      const { matchLabels, matchExpressions } = fields(selector);
      const value = labelsOf(matchLabels)[REVISION];
      const values = listOf(matchExpressions)
        .filter(({ key }) => key === REVISION)
        .flatMap((expression) =>
          Array.isArray(expression.values) ? (expression.values as readonly unknown[]).map(String) : [],
        );
      return [...(value === undefined ? [] : [value]), ...values];
    });
  return [...new Set([...(named === undefined ? [] : [named]), ...selected])];
}
