import { TLS_MODE_LABEL } from "../../mesh-model/endpoint.ts";
import type { InboundScope, OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { defaultAddress, type Service } from "../../mesh-model/service.ts";
import { isIP } from "../../net/ip.ts";
import { type AnyMessage, pack } from "../../protobuf/envoy/index.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { buildGrpcAccessFilters } from "../authz/access-policies.ts";
import { buildSession, sessionFilter } from "../routes/sessions.ts";
import type { FailedObject } from "../shared/attempt.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { providedTls } from "./clusters.ts";

/** The listeners asked for; no names at all mean everything that the client could call. Names that mean nothing get no answer. */
export function generateGrpcListeners(
  view: ProxyView,
  names: readonly string[],
  report: ListenerReport = SILENT,
): readonly Listener[] {
  if (names.length === 0) return everyClientListener(view.outbound);
  const listeners = names.flatMap((name) =>
    isServerListener(name) ? (serverListener(view, name, report) ?? []) : clientListeners(view.outbound, name),
  );
  return [...new Map(listeners.map((listener) => [listener.name, listener])).values()];
}

interface ListenerReport {
  /** An access policy of a server's listener cannot be built. */
  failed(listener: string, policy: FailedObject): void;
  /** A server asks for a listener that cannot exist: no client reaches it. */
  notThere(listener: string, reason: string): void;
}

const SILENT: ListenerReport = { failed: () => undefined, notThere: () => undefined };

/**
 * What a client needs to call the target it asks for, under the name it asks by; one per port when it names none. Ports that do not
 * carry HTTP have a listener without routes: the client fails at once instead of waiting for a listener that never comes.
 */
function clientListeners(scope: OutboundScope, name: string): readonly Listener[] {
  const { spelling, port } = parseTarget(name);
  const host = fullHost(spelling, scope.traits.dnsDomain);
  return scope.services
    .filter(({ hostname }) => hostname === host)
    .flatMap((service) =>
      service.ports
        .filter((own) => port === undefined || own.port === port)
        .map((own) => apiListener(spelling, service, own.port, scope)),
    );
}

function everyClientListener(scope: OutboundScope): readonly Listener[] {
  return scope.services.flatMap((service) =>
    service.ports.map(({ port }) => apiListener(service.hostname, service, port, scope)),
  );
}

function apiListener(spelling: string, service: Service, port: number, { mesh }: OutboundScope): Listener {
  const session = mesh.persistentSessions ? buildSession(service) : undefined;
  return {
    name: `${spelling}:${port}`,
    address: { socketAddress: { address: defaultAddress(service), portValue: port } },
    apiListener: {
      apiListener: pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
        rds: { configSource: { ads: {} }, routeConfigName: clusterName("outbound", port, "", service.hostname) },
        httpFilters: [
          ...(session ? [sessionFilter(session)] : []),
          filter("envoy.filters.http.fault", FAULT),
          filter("envoy.filters.http.router", ROUTER),
        ],
      }),
    },
  };
}

const FAULT = pack("envoy.extensions.filters.http.fault.v3.HTTPFault", {});
const ROUTER: AnyMessage = pack("envoy.extensions.filters.http.router.v3.Router", {});

function filter(name: string, typedConfig: AnyMessage): { readonly name: string; readonly typedConfig: AnyMessage } {
  return { name, typedConfig };
}

/** A target as a client spells it. */
interface Target {
  readonly spelling: string;
  /** Undefined: every port of the host. */
  readonly port?: number;
}

export function parseTarget(name: string): Target {
  const [, spelling, digits = ""] = /^([^:]+):(\d{1,5})$/.exec(name) ?? [];
  return spelling === undefined ? { spelling: name } : { spelling, port: Number(digits) };
}

/** The full name of a host that callers of a domain may shorten, as a resolver with that domain in its search list would. */
export function fullHost(spelling: string, callerDomain: string): string {
  if (!spelling.includes(".")) return callerDomain === "" ? spelling : `${spelling}.${callerDomain}`;
  const [namespace = "", service = "", ...domain] = callerDomain.split(".");
  const [name = "", ...rest] = spelling.split(".");
  const ending = [namespace, service, ...domain];
  const isShort = rest.join(".") === namespace || rest.join(".") === `${namespace}.${service}`;
  return isShort && domain.length > 0 ? [name, ...ending].join(".") : spelling;
}

/** As the agent's gRPC bootstrap spells it, before the address that the server listens on. */
const PREFIX = "xds.istio.io/grpc/lds/inbound/";

function isServerListener(name: string): boolean {
  return name.startsWith(PREFIX);
}

/**
 * How a gRPC server is to accept connections on an address. Undefined for an address that is none, or a port that no service of the
 * workload leads to. gRPC refuses listener filters and chains that it would have to choose by sniffing.
 */
function serverListener(view: ProxyView, name: string, report: ListenerReport): Listener | undefined {
  const [, address = "", digits = ""] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(name.slice(PREFIX.length)) ?? [];
  const port = Number(digits);
  if (isIP(address) === 0) {
    report.notThere(name, `${name.slice(PREFIX.length)} is not an address and a port`);
    return undefined;
  }
  if (!serves(view.inbound, port)) {
    report.notThere(name, `no service of the workload leads to port ${port}`);
    return undefined;
  }
  const kind = isMutual(view, port) ? "mtls" : "plaintext";
  return {
    name,
    address: { socketAddress: { address, portValue: port } },
    filterChains: [
      {
        name: `inbound-${kind}`,
        filters: [
          filter(
            `inbound-hcm${kind}`,
            buildManager(view, (policy) => report.failed(name, policy)),
          ),
        ],
        ...(kind === "mtls" && { transportSocket: MUTUAL_TLS }),
      },
    ],
  };
}

/** Names of clients cannot be checked here: gRPC servers do not support it. */
const MUTUAL_TLS = {
  name: "envoy.transport_sockets.tls",
  typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
    commonTlsContext: providedTls(),
    requireClientCertificate: true,
  }),
};

function buildManager(view: ProxyView, onFailed: (policy: FailedObject) => void) {
  return pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    routeConfig: {
      name: "inbound",
      // Without a name, as other control planes send it: nothing is forwarded, so that no client asks for it.
      virtualHosts: [{ domains: ["*"], routes: [{ match: { prefix: "/" }, nonForwardingAction: {} }] }],
    },
    httpFilters: [...buildGrpcAccessFilters(view, onFailed), filter("envoy.filters.http.router", ROUTER)],
  });
}

function serves({ targets, ingress }: InboundScope, port: number): boolean {
  return targets.some(({ targetPort }) => targetPort === port) || ingress.some((own) => own.port?.number === port);
}

/** A gRPC server cannot detect TLS: where both are allowed, it does what its label promises to clients. */
function isMutual({ node, inbound }: ProxyView, port: number): boolean {
  const mode = inbound.portMtls.get(port) ?? inbound.mtls;
  return mode === "STRICT" || (mode === "PERMISSIVE" && node.labels[TLS_MODE_LABEL] === "istio");
}
