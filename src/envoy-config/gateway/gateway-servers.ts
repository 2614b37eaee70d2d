import { type ConfigObject, objectKey } from "../../istio-api/config-object.ts";
import type { GatewayServer, ServerTls } from "../../istio-api/specs.ts";
import { hostCovers } from "../../istio-api/values/hostname.ts";
import { isHttp, type Protocol, parseProtocol } from "../../istio-api/values/protocol.ts";
import { createOwnedValues } from "../../mesh-model/derive/derived-store.ts";
import type { GatewayContent, OutboundScope, ScopeTraits, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import { gatewayName } from "../../mesh-model/scopes/gateway-content.ts";
import { isWildcardBind } from "../listeners/addresses.ts";
import { ANY_SCOPE } from "../shared/worlds.ts";

/** One server of one Gateway, as a router has it. */
export interface RouterServer {
  /** `namespace/name` of the Gateway. */
  readonly gateway: string;
  readonly object: ConfigObject<"Gateway">;
  /** That clients know and rules speak of; the router may listen on another. */
  readonly port: number;
  readonly protocol: Protocol;
  readonly kind: "http" | "https" | "tcp" | "tls";
  readonly hosts: readonly ServerHost[];
  readonly tls: ServerTls | undefined;
  /** Of its HTTP layer; empty where it has none. */
  readonly routeName: string;
}

/** An address and port with all servers that share it: plain HTTP, one of plain TCP, or any number with TLS. */
export interface MergedServers {
  /** Empty: all addresses. */
  readonly bind: string;
  readonly port: number;
  readonly servers: readonly RouterServer[];
}

interface MergedGateways {
  readonly merged: readonly MergedServers[];
  /** Servers that cannot be had, and why. */
  readonly problems: readonly string[];
  /** Gateways that cannot be read, each with what was thrown. */
  readonly failures: readonly { readonly gateway: ConfigObject<"Gateway">; readonly thrown: unknown }[];
}

const MERGED = createOwnedValues<OutboundScope, MergedGateways>({ kind: ANY_SCOPE });
const NOTHING: MergedGateways = { merged: [], problems: [], failures: [] };

/** Where the routers of the scope listen; found once for listeners and routes. */
export function mergeGateways(scope: OutboundScope): MergedGateways {
  const { gateways } = scope;
  if (gateways === undefined) return NOTHING;
  return MERGED.get(scope, gateways, { make: ({ traits }) => mergeServers(gateways, traits) });
}

interface OpenServers {
  readonly bind: string;
  readonly port: number;
  readonly servers: RouterServer[];
  readonly tlsHosts: Set<string>;
}

function mergeServers({ gateways }: GatewayContent, traits: ScopeTraits): MergedGateways {
  const merged = new Map<string, OpenServers>();
  const problems: string[] = [];
  const failures: { readonly gateway: ConfigObject<"Gateway">; readonly thrown: unknown }[] = [];
  for (const gateway of gateways) {
    try {
      addServers(gateway);
    } catch (thrown) {
      // The others are served without it. Who makes listeners reports it.
      failures.push({ gateway, thrown });
    }
  }
  return {
    merged: [...merged.values()].map(({ bind, port, servers }) => ({ bind, port, servers })),
    problems,
    failures,
  };

  function addServers(gateway: ConfigObject<"Gateway">): void {
    for (const [at, server] of gateway.spec.servers.entries()) {
      if (server.port === undefined) continue;
      for (const port of listensOn(server.port.number, traits)) {
        const key = `${isWildcardBind(server.bind) ? "" : server.bind}_${port}`;
        const listener = merged.get(key) ?? { bind: server.bind, port, servers: [], tlsHosts: new Set() };
        const made = sharingRoutes(toServer(server, gateway, port), listener.servers[0]);
        const reason = unusable(port, traits) ?? refusal(listener, made);
        if (reason !== undefined) {
          problems.push(`${objectKey(gateway)}: spec.servers[${at}]: ${reason}`);
          continue;
        }
        listener.servers.push(made);
        for (const name of tlsNames(made)) listener.tlsHosts.add(name);
        merged.set(key, listener);
      }
    }
  }
}

/** One listener has one set of plain routes, however its servers spell the address. */
function sharingRoutes(server: RouterServer, first: RouterServer | undefined): RouterServer {
  return server.kind === "http" && first?.kind === "http" ? { ...server, routeName: first.routeName } : server;
}

/** A service in front of the router has its own numbers for the router's ports. */
function listensOn(port: number, { routerPorts = [] }: ScopeTraits): readonly number[] {
  return routerPorts.find((known) => known.port === port)?.listensOn ?? [port];
}

function toServer(
  { port, hosts, tls, bind }: GatewayServer,
  object: ConfigObject<"Gateway">,
  listenPort: number,
): RouterServer {
  const gateway = gatewayName(object);
  const [namespace = "", name = ""] = gateway.split("/");
  const number = port?.number ?? 0;
  const protocol = parseProtocol(port?.protocol ?? "");
  const kind = kindOf(protocol, tls);
  const at = bind === "" ? "" : `.${bind}`;
  const routeNames = {
    http: `http.${listenPort}${at}`,
    https: `https.${number}.${port?.name ?? ""}.${name}.${namespace}${at}`,
    tcp: "",
    tls: "",
  };
  const parsed = hosts.map((host) => parseServerHost(host, namespace));
  return { gateway, object, port: number, protocol, kind, hosts: parsed, tls, routeName: routeNames[kind] };
}

/** TLS that is ended here and has HTTP inside is `https`; all other TLS is matched by server name alone. */
function kindOf(protocol: Protocol, tls: ServerTls | undefined): RouterServer["kind"] {
  if (isHttp(protocol)) return "http";
  if (tls === undefined) return "tcp";
  return protocol === "HTTPS" && !isPassthrough(tls) ? "https" : "tls";
}

function isPassthrough({ mode }: ServerTls): boolean {
  return mode === "PASSTHROUGH" || mode === "AUTO_PASSTHROUGH";
}

function tlsNames({ kind, hosts }: RouterServer): readonly string[] {
  if (kind !== "https" && kind !== "tls") return [];
  const names = sniHosts(hosts);
  return names.length === 0 ? ["*"] : names;
}

function unusable(port: number, { unprivileged, listening }: ScopeTraits): string | undefined {
  if (unprivileged && port < 1024) return `port ${port} needs privileges`;
  return listening.staticPorts.includes(port) ? `the proxy itself listens on port ${port}` : undefined;
}

/** Why the server cannot be where others are already. */
function refusal({ servers: [first], tlsHosts }: OpenServers, server: RouterServer): string | undefined {
  if (first === undefined) return undefined;
  const has = `${first.protocol} of ${first.gateway}`;
  if (layer(first) !== layer(server)) return `${server.protocol} cannot share port ${server.port} with ${has}`;
  if (layer(server) === "tcp") return `port ${server.port} is taken by ${has}`;
  const repeated = tlsNames(server).filter((name) => tlsHosts.has(name));
  return repeated.length === 0 ? undefined : `${repeated.join(", ")} is already served on port ${server.port}`;
}

function layer({ kind }: RouterServer): "http" | "tcp" | "tls" {
  return kind === "https" ? "tls" : kind;
}

/** Rules that name the gateway, in the order in which they count. */
export function boundTo({ gateways }: OutboundScope, gateway: string): readonly VirtualServiceRule[] {
  return gateways?.virtualServices.filter(({ spec }) => spec.gateways.includes(gateway)) ?? [];
}

/** A host of a server, and of which namespaces rules for it may come (`*`: of all). */
interface ServerHost {
  readonly namespace: string;
  readonly host: string;
}

/** `host` or `namespace/host`, where `.` is the namespace of the gateway itself. */
function parseServerHost(text: string, own: string): ServerHost {
  const slash = text.indexOf("/");
  const host = text.slice(slash + 1).toLowerCase();
  if (slash === -1) return { namespace: "*", host };
  const namespace = text.slice(0, slash);
  return { namespace: namespace === "." ? own : namespace, host };
}

/** What a rule of the namespace may say about hosts of the server: of two that overlap the narrower one. */
export function commonHosts(
  server: readonly ServerHost[],
  namespace: string,
  ruled: readonly string[],
): readonly string[] {
  const open = server.filter((one) => one.namespace === "*" || one.namespace === namespace);
  const common = open.flatMap(({ host }) =>
    ruled.flatMap((name) => {
      const lower = name.toLowerCase();
      if (hostCovers(host, lower)) return [lower];
      return hostCovers(lower, host) ? [host] : [];
    }),
  );
  return [...new Set(common)];
}

/** By which server names TLS connections are meant for these hosts; none: every one is. */
export function sniHosts(hosts: readonly ServerHost[]): readonly string[] {
  const names = new Set(hosts.map(({ host }) => host));
  return names.has("*") ? [] : [...names];
}
