import { isIP } from "../net/ip.ts";
import { callCluster } from "./call-cluster.ts";
import type { Connection, HttpRequest, Speech, TlsOffer } from "./connection/connection.ts";
import { gatewayListener, outboundListener } from "./connection/listener.ts";
import { type Branch, type Decision, follow, type Outcome, only } from "./decision.ts";
import { decide, type Place, type SimulatedMesh, type SimulatedProxy } from "./mesh.ts";
import { passConnection } from "./pass-connection.ts";
import { ending } from "./passage.ts";

/** What an application sends. */
export interface SimulatedCall {
  readonly host: string;
  readonly port: number;
  readonly speaks: Speech;
  /** The application speaks TLS itself. */
  readonly isTls: boolean;
  /** Of HTTP; names in lower case. */
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Instead of what the name is resolved to. */
  readonly address?: string;
}

/** The ways that the request can take; their shares add up to 1. */
export type Simulation = readonly Branch<Outcome>[];

export function simulateRequest(from: SimulatedProxy, call: SimulatedCall, mesh: SimulatedMesh): Simulation {
  const place = { proxy: from, mesh };
  return merged(follow(resolve(place, call), (address) => send(place, call, address)));
}

/** Addresses that the workload's resolver gives; undefined: one that is not of the mesh. */
function resolve(place: Place, { host, address }: SimulatedCall): readonly Branch<string | undefined>[] {
  if (address !== undefined) return only(address, decide(place, "name", `${host} is taken to be ${address}`));
  if (isIP(host) !== 0) return only(host);
  if (place.proxy.type === "router") return only(undefined);
  const found = lookup(place.proxy, host);
  if (found === undefined) {
    return only(
      undefined,
      decide(place, "name", `${host} is no name of the mesh: its address comes from elsewhere and is not known here`),
    );
  }
  const { name, addresses } = found;
  const text = `${host} is ${addresses.join(" or ")}${name === host ? "" : ` (${name})`}`;
  const decision = decide(place, "name", text, { kind: "name", host: name });
  const tried = addresses.slice(0, MAX_ADDRESSES);
  return tried.map((one) => ({ share: 1 / tried.length, decisions: [decision], value: one }));
}

/** Headless services have an address per endpoint. */
const MAX_ADDRESSES = 8;

function lookup({ resources, searchDomains }: SimulatedProxy, host: string) {
  const plain = host.toLowerCase().replace(/\.$/, "");
  for (const name of [plain, ...searchDomains.map((domain) => `${plain}.${domain}`)]) {
    const labels = name.split(".");
    const keys = [name, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`)];
    for (const key of keys) {
      const addresses = resources.names.get(key);
      if (addresses !== undefined && addresses.length > 0) return { name: key, addresses };
    }
  }
  return undefined;
}

function send(place: Place, call: SimulatedCall, address: string | undefined): readonly Branch<Outcome>[] {
  const { proxy } = place;
  const isHttp = call.speaks === "http1" || call.speaks === "http2";
  const tls: TlsOffer = {
    serverName: isIP(call.host) === 0 ? call.host : undefined,
    alpn: isHttp ? [...(call.speaks === "http2" ? ["h2"] : []), "http/1.1"] : [],
    identity: undefined,
  };
  const connection: Connection = {
    destination: { address, port: call.port },
    sourceAddress: proxy.type === "router" ? undefined : proxy.addresses[0],
    speaks: call.speaks,
    ...(call.isTls && { tls }),
  };
  const request = isHttp ? requestOf(call) : undefined;
  const listeners = proxy.resources.listeners;
  const listener =
    proxy.type === "router" ? gatewayListener(listeners, connection) : outboundListener(listeners, connection);
  if (listener === undefined) return withoutListener(place, connection);
  const found = decide(
    place,
    "listener",
    `${listener.name} takes the connection to ${address ?? call.host}:${call.port}`,
    {
      kind: "listener",
      name: listener.name ?? "",
    },
  );
  // A sidecar does not look into the application's own TLS; a gateway ends it.
  const visible = call.isTls && proxy.type === "sidecar" ? undefined : request;
  return follow(only(undefined, found), () =>
    follow(passConnection(place, listener, connection, visible), (passage) => callCluster(place, connection, passage)),
  );
}

function withoutListener(place: Place, { destination }: Connection): readonly Branch<Outcome>[] {
  if (place.proxy.type === "router") {
    const text = `the gateway does not listen on port ${destination.port}`;
    return only(ending("connection-failed", text).ends, decide(place, "listener", text));
  }
  const text = "the proxy captures nothing: the connection leaves as it is";
  const endpoints = [`${destination.address ?? "?"}:${destination.port}`];
  return only(ending("passthrough", text, { endpoints }).ends, decide(place, "listener", text));
}

function requestOf({ host, port, method, path, headers, isTls }: SimulatedCall): HttpRequest {
  const isDefault = port === (isTls ? 443 : 80);
  const authority = headers.host ?? (isDefault ? host : `${host}:${port}`);
  const { host: _host, ...others } = headers;
  const scheme = isTls ? "https" : "http";
  const line = { ":method": method, ":path": path, ":authority": authority, ":scheme": scheme };
  return { headers: { ...line, "x-forwarded-proto": scheme, ...others } };
}

/** Ways that differ in the endpoint alone are one. */
function merged(branches: readonly Branch<Outcome>[]): Simulation {
  const found = new Map<string, Branch<Outcome>>();
  for (const branch of branches) {
    const { kind, status, flags, cluster } = branch.value;
    const key = JSON.stringify([kind, status, flags, cluster, wayOf(branch.decisions)]);
    const before = found.get(key);
    if (before === undefined) found.set(key, branch);
    else {
      const endpoints = [...new Set([...before.value.endpoints, ...branch.value.endpoints])];
      const text =
        endpoints.length > 1 && kind === "endpoint" ? `arrives at ${endpoints.join(", ")}` : before.value.text;
      found.set(key, { ...before, share: before.share + branch.share, value: { ...before.value, endpoints, text } });
    }
  }
  return [...found.values()];
}

/** What was decided at the client, without the choice of the endpoint. */
function wayOf(decisions: readonly Decision[]): readonly string[] {
  const [first] = decisions;
  return decisions.filter(({ proxy, step }) => proxy === first?.proxy && step !== "endpoint").map(({ text }) => text);
}
