import { asJsonObject } from "../../base/json-object.ts";
import { fullHost, list, type RuleDocument } from "./route-rules.ts";

/** A document that is being changed: plain data, never shared with what was read. */
export type Document = Record<string, unknown>;

/** Objects as they are in force, and as an action leaves them. */
export interface ObjectSet {
  readonly objects: readonly (RuleDocument & { readonly document: Readonly<Record<string, unknown>> })[];
}

export interface ServiceTarget {
  readonly service: string;
  readonly namespace: string;
  readonly host: string;
}

/** The VirtualService that decides about the host, or a new one that changes nothing. */
export function virtualServiceFor({ objects }: ObjectSet, target: ServiceTarget): Document {
  const isFor = ({ namespace, spec }: RuleDocument) =>
    list(spec.hosts).some((host) => fullHost(String(host), namespace) === target.host);
  const found = objects.find((object) => object.kind === "VirtualService" && isFor(object));
  if (found !== undefined) return copy(found.document);
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: freeName(objects, "VirtualService", target), namespace: target.namespace },
    spec: { hosts: [target.host], http: [{ route: [{ destination: { host: target.host } }] }] },
  };
}

/** The DestinationRule of the host, or a new one that changes nothing. */
export function destinationRuleFor({ objects }: ObjectSet, target: ServiceTarget): Document {
  const found = objects.find(
    ({ kind, namespace, spec }) =>
      kind === "DestinationRule" && fullHost(String(spec.host ?? ""), namespace) === target.host,
  );
  if (found !== undefined) return copy(found.document);
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: freeName(objects, "DestinationRule", target), namespace: target.namespace },
    spec: { host: target.host },
  };
}

/** The PeerAuthentication with this selector, or a new one. */
export function peerAuthenticationFor(
  { objects }: ObjectSet,
  {
    namespace,
    name,
    labels,
  }: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Readonly<Record<string, string>> | undefined;
  },
): Document {
  const wanted = JSON.stringify(sorted(labels ?? {}));
  const found = objects.find(
    (object) =>
      object.kind === "PeerAuthentication" &&
      object.namespace === namespace &&
      JSON.stringify(sorted(asJsonObject(asJsonObject(object.spec.selector).matchLabels))) === wanted,
  );
  if (found !== undefined) return copy(found.document);
  const selector = labels === undefined ? {} : { selector: { matchLabels: { ...labels } } };
  return {
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: { name, namespace },
    spec: { ...selector },
  };
}

function freeName(objects: ObjectSet["objects"], kind: string, { service, namespace }: ServiceTarget): string {
  const isTaken = (name: string) =>
    objects.some((object) => object.kind === kind && object.namespace === namespace && object.name === name);
  return isTaken(service) ? `${service}-console` : service;
}

export function specOf(document: Document): Document {
  const spec = asJsonObject(document.spec) as Document;
  document.spec = spec;
  return spec;
}

/** The HTTP routes; those without a condition are at the end, and there is always one. */
export function routesOf(document: Document, host: string): Document[] {
  const spec = specOf(document);
  const routes = list(spec.http) as Document[];
  const hasDefault = routes.some(({ match }) => list(match).length === 0);
  spec.http = hasDefault ? routes : [...routes, { route: [{ destination: { host } }] }];
  return spec.http as Document[];
}

export function defaultRoute(routes: readonly Document[]): Document {
  const found = routes.find(({ match }) => list(match).length === 0);
  if (found === undefined) throw new Error("routesOf adds a route without conditions");
  return found;
}

/** Names of the subsets that select these versions, added where they are missing. */
export function subsetsFor(document: Document, versions: readonly string[]): ReadonlyMap<string, string> {
  const spec = specOf(document);
  const subsets = [...(list(spec.subsets) as Document[])];
  const names = new Map<string, string>();
  for (const version of versions) {
    const found = subsets.find(({ labels }) => asJsonObject(labels).version === version);
    if (found === undefined) subsets.push({ name: version, labels: { version } });
    names.set(version, String(found?.name ?? version));
  }
  spec.subsets = subsets;
  return names;
}

function copy(document: Readonly<Record<string, unknown>>): Document {
  return structuredClone(document) as Document;
}

function sorted(labels: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
