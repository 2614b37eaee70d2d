import { errorMessage } from "../base/coded-error.ts";
import { memoize } from "../base/memoize.ts";
import type { ConfigObject } from "../istio-api/config-object.ts";
import type { Kind } from "../istio-api/kinds.ts";
import { hostCovers, resolveShortHost } from "../istio-api/values/hostname.ts";
import { fields, labelsOf } from "../mesh-model/kubernetes-object.ts";
import { groupBy } from "../mesh-model/lists.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import { parseNode } from "../mesh-model/proxy/parse-node.ts";
import type { OutboundScope, PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Service } from "../mesh-model/service.ts";
import { isVisibleTo } from "../mesh-model/visibility.ts";
import { parseCertificate } from "../protocol/x509/certificate.ts";
import { parsePemCertificates } from "../protocol/x509/pem.ts";
import type { AnalyzedMesh, AnalyzedObject, AnalyzedRule } from "./analyzed-mesh.ts";
import { createHostIndex } from "./host-index.ts";
import { createLabelIndex, createSelectorIndex } from "./label-index.ts";

interface AnalyzedMeshInput {
  readonly objects: readonly AnalyzedObject[];
  readonly settings: MeshSettings;
  /** What the control plane makes of the objects. */
  readonly snapshot: PushSnapshot;
  /** Milliseconds since 1970, for certificates. */
  readonly now: number;
}

export function createAnalyzedMesh({ objects, settings, snapshot, now }: AnalyzedMeshInput): AnalyzedMesh {
  const byKind: ReadonlyMap<string, readonly AnalyzedObject[]> = groupBy(objects, ({ kind }) => kind);
  const scopes = new Map<string, OutboundScope>();
  const of = (kind: string) => byKind.get(kind) ?? [];
  const hosts = memoize(() => createHostIndex(snapshot.services));
  const pods = memoize(() => createLabelIndex(of("Pod")));
  const selecting = memoize(() =>
    createSelectorIndex(of("Service"), ({ namespace, body }) => ({
      namespace,
      selector: labelsOf(fields(body.spec).selector),
    })),
  );
  const byName = memoize(() => new Map(objects.map((one) => [`${one.kind}/${one.namespace}/${one.name}`, one])));
  const byPlace = memoize(() => groupBy(objects, ({ kind, namespace }) => `${kind}/${namespace}`));
  const rules = new Map<Kind, readonly AnalyzedRule<Kind>[]>();
  const seenFrom = (namespace: string): OutboundScope => {
    const scope = scopes.get(namespace) ?? snapshot.view(anySidecar(namespace)).outbound;
    scopes.set(namespace, scope);
    return scope;
  };
  return {
    objects,
    settings,
    snapshot,
    of,
    seenFrom,
    named: (kind, namespace, name) => byName().get(`${kind}/${namespace}/${name}`),
    inNamespace: (kind, namespace) => byPlace().get(`${kind}/${namespace}`) ?? [],
    podsWith: (labels, namespace) => pods()(labels, namespace),
    servicesSelecting: (labels, namespace) => selecting()(labels, namespace),
    servicesMeeting: (host) => hosts().meeting(host),
    rules: <Of extends Kind>(kind: Of) => {
      const known = rules.get(kind) ?? rulesOf(of(kind));
      rules.set(kind, known);
      // Objects of one kind only: the list is that of the kind.
      return known as readonly AnalyzedRule<Of>[];
    },
    certificateProblem: (pem) => certificateProblem(pem, now),
    servicesNamed: (namespace, host) => {
      const full = resolveShortHost(host, namespace, settings.domainSuffix);
      const scope = seenFrom(namespace);
      const ports = hosts()
        .exact(full)
        .flatMap((service) => service.ports.map(({ port }) => port));
      const seen = new Set([scope.service(full), ...ports.map((port) => scope.service(full, port))]);
      seen.delete(undefined);
      if (seen.size > 0) return [...seen].flatMap((service) => service ?? []);
      // Hosts of a wildcard service, and those that a Sidecar object hides from the namespace's own workloads, exist as well.
      return hosts()
        .meeting(full)
        .filter((service) => isNamed(service, full, namespace, settings));
    },
  };
}

function rulesOf(documents: readonly AnalyzedObject[]): readonly AnalyzedRule<Kind>[] {
  return documents.flatMap((document) => {
    const rule = document.decoded?.object ?? document.decoded?.draft;
    return rule === undefined ? [] : [{ document, rule: rule as ConfigObject }];
  });
}

function isNamed(
  { hostname, exportTo, namespace: owner }: Service,
  host: string,
  namespace: string,
  { defaultServiceExportTo }: MeshSettings,
): boolean {
  return hostCovers(hostname, host) && isVisibleTo(exportTo, owner, namespace, defaultServiceExportTo);
}

/** A sidecar without labels at an address that no service has. */
function anySidecar(namespace: string) {
  const name = namespace === "" ? "default" : namespace;
  return parseNode({ id: `sidecar~0.0.0.0~analyzed.${name}~${name}.svc.cluster.local`, metadata: { NAMESPACE: name } });
}

/** Undefined: servers can use it now. */
function certificateProblem(pem: string, now: number): string | undefined {
  try {
    const chain = parsePemCertificates(pem).map(parseCertificate);
    if (chain.length === 0) return "holds no PEM certificate";
    for (const { notBefore, notAfter } of chain) {
      if (now > notAfter.getTime()) return `expired on ${notAfter.toISOString()}`;
      if (now < notBefore.getTime()) return `is not valid before ${notBefore.toISOString()}`;
    }
    return undefined;
  } catch (failure) {
    return errorMessage(failure);
  }
}
