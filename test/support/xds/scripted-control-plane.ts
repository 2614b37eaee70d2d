import { rmSync } from "node:fs";
import * as grpc from "@grpc/grpc-js";
import { type Handle, toHandle } from "../../../src/base/handle.ts";
import { createEnvoyMessages, type EnvoyMessages } from "./scripted-control-plane-json.ts";

export const XDS_TYPES = {
  cds: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  lds: "type.googleapis.com/envoy.config.listener.v3.Listener",
  rds: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  eds: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  sds: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
} as const;
export type XdsType = keyof typeof XDS_TYPES;

export interface ScriptedControlPlaneOptions {
  /** Where Envoy looks for its configuration: `<configPath>/XDS`. */
  readonly xdsSocket: string;
  /** Where Envoy looks for its certificates, when that is another socket. */
  readonly sdsSocket?: string;
  /** Envoy's proto JSON by type; `@type` may be left out at the top. What is absent is answered with nothing. */
  readonly resources?: Partial<Record<XdsType, readonly object[]>>;
}

/** One message of Envoy's. `error` is why it refused the last answer of this type. */
export interface ControlPlaneRequest {
  readonly typeUrl: string;
  readonly isDelta: boolean;
  readonly nodeId: string | undefined;
  readonly names: readonly string[];
  readonly isAck: boolean;
  readonly error: string | undefined;
}

export interface ScriptedControlPlane extends Handle {
  readonly requests: readonly ControlPlaneRequest[];
  /** Open streams of Envoy's. */
  readonly streams: number;
  /** Replaces the resources of a type and sends them to everybody who asked for them. */
  set(type: XdsType, resources: readonly object[]): void;
}

/** A certificate with its key under the name Envoy asks for (`default`). */
export function certificateSecret(name: string, certificate: { readonly cert: string; readonly key: string }): object {
  return {
    name,
    tls_certificate: {
      certificate_chain: { inline_string: certificate.cert },
      private_key: { inline_string: certificate.key },
    },
  };
}

/** A trust anchor under the name Envoy asks for (`ROOTCA`). */
export function trustSecret(name: string, rootPem: string): object {
  return { name, validation_context: { trusted_ca: { inline_string: rootPem } } };
}

/** ADS (delta and state of the world) and SDS on unix sockets, with the answers of the test: enough for Envoy to become LIVE. */
export async function startScriptedControlPlane(options: ScriptedControlPlaneOptions): Promise<ScriptedControlPlane> {
  const messages = createEnvoyMessages();
  const state: State = {
    messages,
    resources: new Map(),
    requests: [],
    subscriptions: new Set(),
    streams: 0,
    version: 0,
  };
  const set = (type: XdsType, resources: readonly object[]) => {
    const typed = resources.map((resource) => ({ "@type": XDS_TYPES[type], ...resource }));
    state.resources.set(
      XDS_TYPES[type],
      typed.map((resource) => ({ name: nameOf(resource), any: messages.packAny(resource) })),
    );
    state.version++;
    for (const subscription of state.subscriptions) if (subscription.typeUrl === XDS_TYPES[type]) subscription.push();
  };
  for (const [type, resources] of Object.entries(options.resources ?? {})) set(type as XdsType, resources);
  const server = new grpc.Server();
  server.addService(serviceOf(messages), implementationOf(state));
  const sockets = [options.xdsSocket, ...(options.sdsSocket === undefined ? [] : [options.sdsSocket])];
  for (const socket of new Set(sockets)) await bind(server, socket);
  return toHandle({
    requests: state.requests,
    get streams() {
      return state.streams;
    },
    set,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      server.forceShutdown();
      for (const socket of sockets) rmSync(socket, { force: true });
    },
  });
}

interface State {
  readonly messages: EnvoyMessages;
  readonly resources: Map<string, readonly { readonly name: string; readonly any: object }[]>;
  readonly requests: ControlPlaneRequest[];
  readonly subscriptions: Set<Subscription>;
  streams: number;
  version: number;
}

/** What one stream has asked for of one type. */
interface Subscription {
  readonly typeUrl: string;
  /** Empty or `*`: everything. */
  readonly names: Set<string>;
  nonce: string;
  push(): void;
}

interface Request {
  readonly node?: { readonly id?: string };
  readonly type_url?: string;
  readonly resource_names?: readonly string[];
  readonly resource_names_subscribe?: readonly string[];
  readonly resource_names_unsubscribe?: readonly string[];
  readonly response_nonce?: string;
  readonly error_detail?: { readonly message?: string };
}

type Stream = grpc.ServerDuplexStream<Request, object>;

const DISCOVERY = "envoy.service.discovery.v3";
const METHODS = [
  { name: "Sotw", path: `/${DISCOVERY}.AggregatedDiscoveryService/StreamAggregatedResources`, isDelta: false },
  { name: "Delta", path: `/${DISCOVERY}.AggregatedDiscoveryService/DeltaAggregatedResources`, isDelta: true },
  { name: "SotwSecrets", path: "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets", isDelta: false },
  { name: "DeltaSecrets", path: "/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets", isDelta: true },
] as const;

function serviceOf(messages: EnvoyMessages): grpc.ServiceDefinition {
  const codecs = (prefix: string) => ({
    request: messages.codec(`${DISCOVERY}.${prefix}DiscoveryRequest`),
    response: messages.codec(`${DISCOVERY}.${prefix}DiscoveryResponse`),
  });
  const [sotw, delta] = [codecs(""), codecs("Delta")];
  const methods = METHODS.map(({ name, path, isDelta }) => {
    const { request, response } = isDelta ? delta : sotw;
    const definition = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: request.encode,
      requestDeserialize: request.decode,
      responseSerialize: response.encode,
      responseDeserialize: response.decode,
    };
    return [name, definition];
  });
  return Object.fromEntries(methods) as grpc.ServiceDefinition;
}

function implementationOf(state: State): grpc.UntypedServiceImplementation {
  return Object.fromEntries(
    METHODS.map(({ name, isDelta }) => [name, (stream: Stream) => serve(state, stream, isDelta)]),
  );
}

function serve(state: State, stream: Stream, isDelta: boolean): void {
  const subscriptions = new Map<string, Subscription>();
  state.streams++;
  const close = () => {
    for (const subscription of subscriptions.values()) state.subscriptions.delete(subscription);
    subscriptions.clear();
  };
  stream.on("data", (request: Request) => {
    const typeUrl = request.type_url ?? "";
    const names = request.resource_names ?? request.resource_names_subscribe ?? [];
    const known = subscriptions.get(typeUrl);
    const isReply =
      known !== undefined && (request.response_nonce ?? "") !== "" && request.response_nonce === known.nonce;
    const error = request.error_detail?.message;
    state.requests.push({
      typeUrl,
      isDelta,
      nodeId: request.node?.id,
      names,
      isAck: isReply && request.error_detail === undefined,
      error,
    });
    const subscription = known ?? subscribe(state, stream, typeUrl, isDelta);
    subscriptions.set(typeUrl, subscription);
    const hasNews = updateNames(subscription.names, request, isDelta);
    if (!isReply || hasNews) subscription.push();
  });
  stream.on("error", close);
  stream.on("close", () => {
    state.streams--;
    close();
  });
  stream.on("end", () => stream.end());
}

function subscribe(state: State, stream: Stream, typeUrl: string, isDelta: boolean): Subscription {
  const subscription: Subscription = {
    typeUrl,
    names: new Set(),
    nonce: "",
    push: () => {
      subscription.nonce = `${state.version}-${Math.random()}`;
      stream.write(isDelta ? deltaResponse(state, subscription) : sotwResponse(state, subscription));
    },
  };
  state.subscriptions.add(subscription);
  return subscription;
}

/** State-of-the-world requests list every name each time, delta ones the changes. True when names came in. */
function updateNames(names: Set<string>, request: Request, isDelta: boolean): boolean {
  const before = new Set(names);
  if (!isDelta) names.clear();
  for (const name of request.resource_names ?? request.resource_names_subscribe ?? []) names.add(name);
  for (const name of request.resource_names_unsubscribe ?? []) names.delete(name);
  return [...names].some((name) => !before.has(name));
}

function matching(state: State, { typeUrl, names }: Subscription) {
  const all = state.resources.get(typeUrl) ?? [];
  return names.size === 0 || names.has("*") ? all : all.filter(({ name }) => names.has(name));
}

function sotwResponse(state: State, subscription: Subscription): object {
  const { typeUrl, nonce } = subscription;
  const resources = matching(state, subscription).map(({ any }) => any);
  return { type_url: typeUrl, version_info: String(state.version), nonce, resources };
}

/** Names that do not exist are reported as removed, so that nobody waits for them. */
function deltaResponse(state: State, subscription: Subscription): object {
  const { typeUrl, nonce, names } = subscription;
  const found = matching(state, subscription);
  const version = String(state.version);
  return {
    type_url: typeUrl,
    system_version_info: version,
    nonce,
    resources: found.map(({ name, any }) => ({ name, version, resource: any })),
    removed_resources: [...names].filter((name) => name !== "*" && !found.some((resource) => resource.name === name)),
  };
}

function nameOf(resource: object): string {
  const { name, cluster_name } = resource as { readonly name?: string; readonly cluster_name?: string };
  return name ?? cluster_name ?? "";
}

function bind(server: grpc.Server, socket: string): Promise<void> {
  rmSync(socket, { force: true });
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}
