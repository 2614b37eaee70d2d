import type { YamlPath } from "../../files/yaml/locate-yaml.ts";
import type { Destination, VirtualServiceSpec } from "../../istio-api/specs.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import { groupBy } from "../../mesh-model/lists.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { AnalyzedMesh, AnalyzedRule } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";

interface PlacedDestination {
  readonly destination: Destination;
  readonly path: YamlPath;
  readonly isMirror: boolean;
}

/** Where a VirtualService sends requests to, mirrors last. */
function destinationsOf({ http, tls, tcp }: VirtualServiceSpec): readonly PlacedDestination[] {
  const routed = (
    [
      ["tcp", tcp],
      ["tls", tls],
      ["http", http],
    ] as const
  ).flatMap(([member, rules]) =>
    rules.flatMap(({ route }, at) =>
      route.flatMap(({ destination }, index): readonly PlacedDestination[] => {
        const path = ["spec", member, at, "route", index, "destination"];
        return destination === undefined ? [] : [{ destination, path, isMirror: false }];
      }),
    ),
  );
  const mirrored = http.flatMap(({ mirror, mirrors }, at): readonly PlacedDestination[] => [
    ...(mirror === undefined ? [] : [{ destination: mirror, path: ["spec", "http", at, "mirror"], isMirror: true }]),
    ...mirrors.flatMap(({ destination }, index) => {
      const path = ["spec", "http", at, "mirrors", index, "destination"];
      return destination === undefined ? [] : [{ destination, path, isMirror: true }];
    }),
  ]);
  return [...routed, ...mirrored];
}

/** Hosts and ports that routes name, as a sidecar of the rule's namespace knows them. */
export function destinationHosts(mesh: AnalyzedMesh, report: ReportFinding): void {
  const rules = mesh.rules("VirtualService");
  const bySubset = hostsWithSubsets(rules);
  for (const { document, rule } of rules) {
    for (const { destination, path, isMirror } of destinationsOf(rule.spec)) {
      const host = resolveShortHost(destination.host, rule.namespace, mesh.settings.domainSuffix);
      const [blind] = callersOf(rule).filter((namespace) => mesh.servicesNamed(namespace, host).length === 0);
      if (blind === undefined) {
        const services = mesh.servicesNamed(rule.namespace, host);
        checkPort(services, destination, (name, text) => report(name, document, text, path));
      } else {
        const what = `${isMirror ? "mirror host" : "host"} not found: ${JSON.stringify(destination.host)}`;
        const text = `${what}: no service of this name is visible in namespace ${blind}`;
        report("ReferencedResourceNotFound", document, text, [...path, "host"]);
      }
    }
    if (rule.spec.gateways.length > 0) reportUnaffected(bySubset, { document, rule }, report);
  }
}

/** Namespaces that are certain to use the rule: its own, or those it is exported to by name. */
function callersOf({ namespace, spec }: AnalyzedRule<"VirtualService">["rule"]): readonly string[] {
  const named = spec.exportTo.filter((entry) => !["*", ".", "~"].includes(entry));
  const isOwn = spec.exportTo.length === 0 || spec.exportTo.includes(".") || spec.exportTo.includes("*");
  return isOwn ? [namespace, ...named] : named;
}

function checkPort(
  services: readonly Service[],
  { host, port }: Destination,
  report: (name: "VirtualServiceDestinationPortSelectorRequired" | "ReferencedResourceNotFound", text: string) => void,
): void {
  const ports = services.flatMap((service) => service.ports.map(({ port: number }) => number));
  if (services.length === 0) return;
  if (port === undefined) {
    if (ports.length < 2) return;
    const text = `service ${JSON.stringify(host)} has several ports (${ports.join(", ")}): the destination must name one`;
    report("VirtualServiceDestinationPortSelectorRequired", text);
  } else if (!ports.includes(port.number)) {
    const allowed = ports.length === 0 ? "it has none" : `it has ${ports.join(", ")}`;
    report("ReferencedResourceNotFound", `host:port not found: "${host}:${port.number}": ${allowed}`);
  }
}

/** VirtualServices that send requests for a host to subsets of the same host. */
function hostsWithSubsets(rules: readonly AnalyzedRule<"VirtualService">[]): ReadonlyMap<string, readonly string[]> {
  const byHost = new Map<string, string[]>();
  for (const { rule } of rules) {
    const names = rule.spec.http
      .flatMap(({ route }) => [...route])
      .flatMap(({ destination }) => (destination !== undefined && destination.subset !== "" ? [destination.host] : []))
      .filter((host) => rule.spec.hosts.includes(host));
    for (const host of new Set(names)) {
      byHost.set(host, [...(byHost.get(host) ?? []), `${rule.namespace}/${rule.name}`]);
    }
  }
  return byHost;
}

/** A gateway's own route decides: subsets that another VirtualService chooses inside the mesh do not count for it. */
function reportUnaffected(
  bySubset: ReadonlyMap<string, readonly string[]>,
  { document, rule }: AnalyzedRule<"VirtualService">,
  report: ReportFinding,
): void {
  rule.spec.http.forEach(({ route }, at) => {
    route.forEach(({ destination }, index) => {
      if (destination === undefined || destination.subset !== "") return;
      for (const other of bySubset.get(destination.host) ?? []) {
        report(
          "IngressRouteRulesNotAffected",
          document,
          `the subset that VirtualService ${other} chooses for ${destination.host} has no effect on requests of this gateway`,
          ["spec", "http", at, "route", index, "destination", "host"],
        );
      }
    });
  });
}

/** Subsets that routes name, in the DestinationRule that the control plane takes for the host. */
export function destinationSubsets(mesh: AnalyzedMesh, report: ReportFinding): void {
  const { domainSuffix } = mesh.settings;
  const rulesByHost = groupBy([...mesh.rules("DestinationRule")], ({ rule }) =>
    resolveShortHost(rule.spec.host, rule.namespace, domainSuffix),
  );
  for (const { document, rule } of mesh.rules("VirtualService")) {
    for (const { destination, path, isMirror } of destinationsOf(rule.spec)) {
      const { host, subset } = destination;
      if (subset === "") continue;
      const full = resolveShortHost(host, rule.namespace, domainSuffix);
      if (hasSubset(mesh, rulesByHost.get(full) ?? [], { namespace: rule.namespace, host, subset })) continue;
      report(
        "ReferencedResourceNotFound",
        document,
        `${isMirror ? "mirror" : "host"}+subset in destinationrule not found: "${host}+${subset}"`,
        [...path, "subset"],
      );
    }
  }
}

interface Wanted {
  readonly namespace: string;
  readonly host: string;
  readonly subset: string;
}

/** By the rule that is applied to calls from the namespace; rules for some of its clients count for those. */
function hasSubset(
  mesh: AnalyzedMesh,
  rules: readonly AnalyzedRule<"DestinationRule">[],
  { namespace, host, subset }: Wanted,
): boolean {
  const scope = mesh.seenFrom(namespace);
  const services = mesh.servicesNamed(namespace, host);
  const applied = services.flatMap((service) => scope.destinationRule(service)?.spec.subsets ?? []);
  if (applied.some(({ name }) => name === subset)) return true;
  return rules.some(({ rule: { spec, namespace: from } }) => {
    const counts = services.length === 0 || (spec.workloadSelector !== undefined && from === namespace);
    return counts && spec.subsets.some(({ name }) => name === subset);
  });
}
