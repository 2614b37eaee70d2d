import { type AnyConfigObject, compareText, objectKey } from "../../../istio-api/config-object.ts";
import { describeDocumentProblem } from "../../../istio-api/decode/parse-config-text.ts";
import { KINDS } from "../../../istio-api/kinds.ts";
import { type HttpRequest, json, type TextAnswer } from "../../../net/http-server/http-types.ts";
import type { DebugContext } from "../debug-context.ts";
import { showEndpoint, showPort, showService, timeOf } from "./show-service.ts";
import { requireProxy } from "./streams.ts";

/** All services, as the registries have them. */
export function registryz({ registry }: DebugContext): TextAnswer {
  const services = [...registry.services()].sort((a, b) => compareText(a.hostname, b.hostname));
  return json(services.flatMap(showService));
}

type Shown = ReturnType<typeof showEndpoint>;
interface Shards {
  readonly Shards: Record<string, readonly Shown[]>;
  readonly ServiceAccounts: Record<string, object>;
}

/** Endpoints by host name and namespace, in the shards they come from. */
export function endpointShardz({ registry }: DebugContext): TextAnswer {
  const hosts: Record<string, Record<string, Shards>> = {};
  for (const service of registry.services()) {
    const endpoints = registry.endpoints(service.key);
    if (endpoints.length === 0) continue;
    hosts[service.hostname] ??= {};
    const namespaces = hosts[service.hostname] ?? {};
    const { Shards, ServiceAccounts } = namespaces[service.namespace] ?? { Shards: {}, ServiceAccounts: {} };
    const shard = `${service.provider}/${service.clusterId}`;
    const shown = endpoints.map((endpoint) => showEndpoint(service, endpoint));
    const accounts = endpoints.map(({ serviceAccount }) => serviceAccount).filter((account) => account !== "");
    namespaces[service.namespace] = {
      Shards: { ...Shards, [shard]: [...(Shards[shard] ?? []), ...shown] },
      ServiceAccounts: { ...ServiceAccounts, ...Object.fromEntries(accounts.map((account) => [account, {}])) },
    };
  }
  return json(hosts);
}

/** Every rule object in force. */
export function configz({ store }: DebugContext): TextAnswer {
  const objects = [...store.snapshot.all()].sort((a, b) => compareText(objectKey(a), objectKey(b)));
  return json(
    objects.map(({ source, namespace, creationTime }) => {
      const metadata = typeof source.metadata === "object" ? source.metadata : {};
      return { ...source, metadata: { ...metadata, namespace, creationTimestamp: timeOf(creationTime) } };
    }),
  );
}

export function meshConfig({ snapshot }: DebugContext): TextAnswer {
  return json(snapshot().mesh.source);
}

/** What collides, by metric and by name; then figures of the last push, refused documents and rules that lose. */
export function pushStatus(context: DebugContext): TextAnswer {
  const { version, services } = context.snapshot();
  return json({
    ...context.conflicts(),
    version,
    pushes: context.pushes(),
    pending: context.isPushing(),
    proxies: context.connections.all().length,
    services: services.length,
    problems: [
      ...context.store.snapshot.problems.map(describeDocumentProblem),
      ...ruleProblems(context),
      ...credentialProblems(context),
    ],
  });
}

/** What the proxies serve themselves. */
export function instancesz(context: DebugContext): TextAnswer {
  const entries = context.connections.all().map((connection) => {
    const { targets } = connection.view().inbound;
    const shown = targets.map(({ service, port, targetPort }) => ({
      Service: showService(service)[0],
      Port: { ...showPort(port), TargetPort: targetPort },
    }));
    return [connection.node.id, shown];
  });
  return json(Object.fromEntries(entries));
}

/** What a proxy may see: the effect of its Sidecar object. */
export function sidecarz(context: DebugContext, call: Pick<HttpRequest, "query">): TextAnswer {
  const { outbound, node } = requireProxy(context, call).view();
  const { sidecar, services, egress, mesh } = outbound;
  const rules = services.flatMap((service) => {
    const rule = outbound.destinationRule(service);
    return rule === undefined ? [] : [[service.hostname, [showRule(rule.object, rule.objects, mesh.domainSuffix)]]];
  });
  return json({
    version: outbound.snapshot.version,
    name: sidecar?.name ?? "default-sidecar",
    namespace: sidecar?.namespace ?? node.namespace,
    sidecar: sidecar?.source.spec ?? null,
    outboundTrafficPolicy: outbound.outboundTrafficPolicy,
    destinationRules: Object.fromEntries(rules),
    services: services.flatMap(showService),
    servicesByHostname: Object.fromEntries(services.map((service) => [service.hostname, showService(service)[0]])),
    egressListenerServices: egress.map((listener) => listener.services.flatMap(showService)),
    egress: egress.map(({ port, bind, captureMode, virtualServices }) => ({
      ...(port === undefined ? {} : { port }),
      bind,
      captureMode,
      virtualServices: virtualServices.map(({ object }) => `${object.namespace}/${object.name}`),
    })),
  });
}

function showRule(object: AnyConfigObject, merged: readonly AnyConfigObject[], domain: string) {
  const { kind, name, namespace, creationTime, source } = object;
  return {
    exportTo: {},
    from: merged.map((from) => ({ Namespace: from.namespace, Name: from.name })),
    rule: {
      type: { group: KINDS[kind].group, version: KINDS[kind].versions[0], kind },
      name,
      namespace,
      domain,
      creationTimestamp: timeOf(creationTime),
      Spec: source.spec,
      Status: null,
      Extra: null,
    },
  };
}

/** What gateways lack to serve all their hosts. */
function credentialProblems(context: DebugContext): readonly string[] {
  return context.credentialProblems().map(({ resource, namespace, reason, gateways }) => {
    const whose = gateways.map((gateway) => `${gateway.kind} ${gateway.namespace}/${gateway.name}`).join(", ");
    return `error: ${resource} for namespace ${namespace}: ${reason}${whose === "" ? "" : ` (${whose})`}`;
  });
}

/** Objects that are good by themselves and collide with others. */
function ruleProblems({ snapshot }: DebugContext): readonly string[] {
  return snapshot()
    .problems()
    .map(({ object, message }) => `warning: ${message} (${object.kind} ${object.namespace}/${object.name})`);
}
