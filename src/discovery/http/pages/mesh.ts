import { describeDocumentProblem } from "../../decode/parse-config-text.ts";
import type { Endpoint } from "../../model/endpoint.ts";
import { formatLocality } from "../../model/locality.ts";
import type { Service } from "../../model/service.ts";
import type { DebugContext } from "../debug-context.ts";
import { type HttpAnswer, type HttpCall, json } from "../http-types.ts";
import { requireProxy } from "./streams.ts";

/** All services, as the registries have them. */
export function registryz({ registry }: DebugContext): HttpAnswer {
  return json(registry.services());
}

/** Endpoints by service and port. */
export function endpointz({ registry }: DebugContext): HttpAnswer {
  return json(
    registry.services().flatMap((service) =>
      service.ports.map((port) => ({
        service: `${service.hostname}:${port.name}`,
        endpoints: registry
          .endpoints(service.key)
          .filter(({ servicePortName }) => servicePortName === port.name)
          .map((endpoint) => showEndpoint(service, endpoint)),
      })),
    ),
  );
}

/** Endpoints by host name and namespace, in the shards they come from. */
export function endpointShardz({ registry }: DebugContext): HttpAnswer {
  const hosts: Record<
    string,
    Record<string, { Shards: Record<string, unknown>; ServiceAccounts: readonly string[] }>
  > = {};
  for (const service of registry.services()) {
    const endpoints = registry.endpoints(service.key);
    if (endpoints.length === 0) continue;
    hosts[service.hostname] ??= {};
    const namespaces = hosts[service.hostname] ?? {};
    const entry = namespaces[service.namespace] ?? { Shards: {}, ServiceAccounts: [] };
    const shard = `${service.provider}/${service.clusterId}`;
    const known = entry.Shards[shard];
    entry.Shards[shard] = [...(Array.isArray(known) ? known : []), ...endpoints];
    const accounts = endpoints.map(({ serviceAccount }) => serviceAccount).filter((account) => account !== "");
    namespaces[service.namespace] = {
      ...entry,
      ServiceAccounts: [...new Set([...entry.ServiceAccounts, ...accounts])].sort(),
    };
  }
  return json(hosts);
}

/** Every rule object, and the documents that were refused. */
export function configz(context: DebugContext): HttpAnswer {
  const { snapshot } = context.store;
  return json({
    objects: snapshot.all().map(({ source, namespace, creationTime }) => {
      const metadata = typeof source.metadata === "object" ? source.metadata : {};
      return { ...source, metadata: { ...metadata, namespace, creationTimestamp: timeOf(creationTime) } };
    }),
    problems: [...snapshot.problems.map(describeDocumentProblem), ...ruleProblems(context)],
  });
}

export function meshConfig({ snapshot }: DebugContext): HttpAnswer {
  return json(snapshot().mesh.source);
}

export function pushStatus(context: DebugContext): HttpAnswer {
  const { version, services } = context.snapshot();
  return json({
    version,
    pushes: context.pushes(),
    proxies: context.connections.all().length,
    services: services.length,
    problems: [...context.store.snapshot.problems.map(describeDocumentProblem), ...ruleProblems(context)],
  });
}

/** What the proxies serve themselves. */
export function instancesz(context: DebugContext): HttpAnswer {
  const entries = context.connections.all().map((connection) => {
    const { targets } = connection.view().inbound;
    return [
      connection.id,
      targets.map(({ service, port, targetPort }) => ({ service: service.hostname, port: port.port, targetPort })),
    ];
  });
  return json(Object.fromEntries(entries));
}

/** What a proxy may see: the effect of its Sidecar object. */
export function sidecarz(context: DebugContext, call: Pick<HttpCall, "query">): HttpAnswer {
  const { outbound } = requireProxy(context, call).view();
  return json({
    key: outbound.key,
    sidecar: outbound.sidecar === undefined ? null : `${outbound.sidecar.namespace}/${outbound.sidecar.name}`,
    outboundTrafficPolicy: outbound.outboundTrafficPolicy,
    egress: outbound.egress.map(({ port, bind, captureMode, services, virtualServices }) => ({
      ...(port === undefined ? {} : { port }),
      bind,
      captureMode,
      services: services.map(({ hostname }) => hostname),
      virtualServices: virtualServices.map(({ object }) => `${object.namespace}/${object.name}`),
    })),
  });
}

/** Objects that are good by themselves and collide with others. */
function ruleProblems({ snapshot }: DebugContext): readonly string[] {
  return snapshot()
    .problems()
    .map(({ object, message }) => `warning: ${message} (${object.kind} ${object.namespace}/${object.name})`);
}

function showEndpoint(service: Service, { addresses, port, labels, locality, serviceAccount, health }: Endpoint) {
  return {
    address: addresses[0] ?? "",
    port,
    namespace: service.namespace,
    labels,
    locality: formatLocality(locality),
    serviceAccount,
    health,
  };
}

function timeOf(milliseconds: number): string | null {
  return milliseconds === 0 ? null : new Date(milliseconds).toISOString();
}
