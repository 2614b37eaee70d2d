import * as grpcJs from "@grpc/grpc-js";
import { createGrpcChannel } from "../../../src/grpc/client/create-grpc-channel.ts";
import { rawMethod } from "../../../src/grpc/method.ts";
import { GrpcError } from "../../../src/grpc/status.ts";
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type DiscoveryRequest,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
  type Node,
} from "../../../src/protobuf/wire/discovery.ts";
import { encodeStruct, type JsonObject } from "../../../src/protobuf/wire/struct.ts";
import { GRPC_STATUS_NAMES } from "../../../src/protocol/grpc-status-names.ts";
import { ADS_PATHS, type XdsProtocol } from "../../../src/xds/methods.ts";
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  NAME_TABLE_TYPE,
  PROXY_CONFIG_TYPE,
  ROUTE_TYPE,
} from "../../../src/xds/type-urls.ts";
import { until } from "../wait/until.ts";

export const URLS = {
  CDS: CLUSTER_TYPE,
  EDS: ENDPOINT_TYPE,
  LDS: LISTENER_TYPE,
  RDS: ROUTE_TYPE,
  NDS: NAME_TABLE_TYPE,
  PCDS: PROXY_CONFIG_TYPE,
} as const;

export type Library = "ours" | "grpc-js";

export interface AdsClientOptions {
  readonly port: number;
  readonly host?: string;
  readonly library?: Library;
  readonly token?: string;
  /** The header in which a gateway describes its client; with the own library only. */
  readonly forwarded?: string;
  /** The cluster that the client says it is in; with the own library only. */
  readonly clusterId?: string;
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  /** Never reads what it is sent. */
  readonly isDeaf?: boolean;
  /** Of HTTP/2, with the own library only. */
  readonly windowBytes?: number;
}

export interface StreamEnd {
  readonly code: string;
  readonly message: string;
}

/** One ADS stream. Responses are in the order they came. */
export interface AdsStream<Request, Response> extends AsyncDisposable {
  send(request: Partial<Request>): void;
  readonly responses: readonly Response[];
  /** The next response; fails after half a minute. */
  next(): Promise<Response>;
  /** Settles when the server ended the stream. */
  readonly ended: Promise<StreamEnd>;
}

export type SotwStream = AdsStream<DiscoveryRequest, DiscoveryResponse>;
export type DeltaStream = AdsStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>;

export function openSotw(options: AdsClientOptions, onResponse?: (response: DiscoveryResponse) => void): SotwStream {
  const codecs = { encode: discoveryRequest.encode, decode: discoveryResponse.decode };
  return open(ADS_PATHS.sotw, codecs, options, onResponse);
}

export function openDelta(
  options: AdsClientOptions,
  onResponse?: (response: DeltaDiscoveryResponse) => void,
): DeltaStream {
  const codecs = { encode: deltaDiscoveryRequest.encode, decode: deltaDiscoveryResponse.decode };
  return open(ADS_PATHS.delta, codecs, options, onResponse);
}

/** A stream of bytes, for what no codec would write. */
export interface RawAdsStream extends AsyncDisposable {
  readonly responses: Buffer[];
  send(message: Buffer): void;
  halfClose(): void;
  cancel(): void;
  pause(): void;
  resume(): void;
  received(count: number): Promise<void>;
  readonly status: Promise<grpcJs.StatusObject>;
}

/** A client of the agent's socket, on grpc-js. */
export function openRawAds(socketPath: string, protocol: XdsProtocol): RawAdsStream {
  const credentials = grpcJs.credentials.createInsecure();
  const { client, call } = callByGrpcJs(`unix:${socketPath}`, ADS_PATHS[protocol], credentials);
  const responses: Buffer[] = [];
  call.on("data", (bytes: Buffer) => void responses.push(bytes));
  const status = new Promise<grpcJs.StatusObject>((resolve) => call.on("status", resolve));
  return {
    responses,
    status,
    send: (message) => void call.write(message),
    halfClose: () => call.end(),
    cancel: () => call.cancel(),
    pause: () => void call.pause(),
    resume: () => void call.resume(),
    received: (count) =>
      until(`${count} responses`, () => responses.length >= count || `${responses.length} responses`),
    async [Symbol.asyncDispose]() {
      call.cancel();
      client.close();
    },
  };
}

/** A node as agents send it. */
export function testNode(given: { id?: string; metadata?: JsonObject } = {}): Partial<Node> {
  const { id = "sidecar~10.10.0.11~web-1.default~default.svc.cluster.local", metadata } = given;
  const usual = { NAMESPACE: "default", INSTANCE_IPS: "10.10.0.11", CLUSTER_ID: "Kubernetes", LABELS: { app: "web" } };
  return { id, metadata: encodeStruct(metadata ?? usual) };
}

interface Codecs<Request, Response> {
  encode(request: Partial<Request>): Buffer;
  decode(bytes: Buffer): Response;
}

interface Transport {
  write(bytes: Buffer): void;
  close(): Promise<void>;
}

function open<Request, Response>(
  path: string,
  codecs: Codecs<Request, Response>,
  options: AdsClientOptions,
  onResponse?: (response: Response) => void,
): AdsStream<Request, Response> {
  const responses: Response[] = [];
  const waiting: ((response: Response) => void)[] = [];
  let taken = 0;
  let settle: (end: StreamEnd) => void = () => undefined;
  const ended = new Promise<StreamEnd>((resolve) => {
    settle = resolve;
  });
  const onMessage = (bytes: Buffer) => {
    const received = codecs.decode(Buffer.from(bytes));
    responses.push(received);
    onResponse?.(received);
    const response = responses[taken];
    const waiter = response === undefined ? undefined : waiting.shift();
    if (response === undefined || waiter === undefined) return;
    taken += 1;
    waiter(response);
  };
  const connect = options.library === "grpc-js" ? connectGrpcJs : connectOurs;
  const transport = connect(path, options, onMessage, (end) => settle(end));
  return {
    send: (request) => transport.write(codecs.encode(request)),
    responses,
    ended,
    next: () => {
      const response = responses[taken];
      if (response !== undefined) {
        taken += 1;
        return Promise.resolve(response);
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no response ${taken + 1} within 30 s`)), 30_000);
        waiting.push((value) => {
          clearTimeout(timer);
          resolve(value);
        });
        void ended.then((end) => reject(new Error(`the stream ended: ${end.code} ${end.message}`)));
      });
    },
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

type Connect = (
  path: string,
  options: AdsClientOptions,
  onMessage: (bytes: Buffer) => void,
  onEnd: (end: StreamEnd) => void,
) => Transport;

const connectOurs: Connect = (path, options, onMessage, onEnd) => {
  const host = options.host ?? "127.0.0.1";
  const { tls, token, forwarded, clusterId, windowBytes } = options;
  const channel = createGrpcChannel(`${host}:${options.port}`, {
    ...(tls === undefined ? {} : { tls: () => ({ ...tls, serverName: "localhost" }) }),
    credentials: () => ({
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(forwarded === undefined ? {} : { "x-forwarded-client-cert": forwarded }),
      ...(clusterId === undefined ? {} : { clusterid: clusterId }),
    }),
    maxReceiveBytes: 512 * 1024 * 1024,
    ...(windowBytes === undefined ? {} : { windowBytes }),
  });
  const opening = channel.bidi(rawMethod(path, "bidi"));
  const report = (thrown: unknown) => {
    if (!(thrown instanceof GrpcError)) throw thrown;
    onEnd({ code: thrown.code, message: thrown.message });
  };
  const read = async () => {
    const call = await opening;
    if (options.isDeaf === true) return;
    for await (const bytes of call.responses) onMessage(bytes);
    onEnd({ code: "OK", message: "" });
  };
  void read().catch(report);
  return {
    write: (bytes) => void opening.then((call) => call.write(bytes)).catch(() => undefined),
    close: () => channel.stop(),
  };
};

const connectGrpcJs: Connect = (path, options, onMessage, onEnd) => {
  const { tls, token } = options;
  const credentials =
    tls === undefined
      ? grpcJs.credentials.createInsecure()
      : grpcJs.credentials.createSsl(Buffer.from(tls.ca), bufferOf(tls.key), bufferOf(tls.cert));
  const metadata = new grpcJs.Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  const target = `${options.host ?? "127.0.0.1"}:${options.port}`;
  const { client, call } = callByGrpcJs(target, path, credentials, metadata);
  if (options.isDeaf !== true) call.on("data", onMessage);
  call.on("status", ({ code, details }) => onEnd({ code: GRPC_STATUS_NAMES[code] ?? "UNKNOWN", message: details }));
  return {
    write: (bytes) => void call.write(bytes),
    close: async () => {
      call.cancel();
      client.close();
    },
  };
};

function callByGrpcJs(
  target: string,
  path: string,
  credentials: grpcJs.ChannelCredentials,
  metadata = new grpcJs.Metadata(),
) {
  const client = new grpcJs.Client(target, credentials, {
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
    // Of a certificate; without TLS it would be the `:authority`.
    ...(credentials._isSecure() ? { "grpc.ssl_target_name_override": "localhost" } : {}),
  });
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, same, same, metadata);
  call.on("error", () => undefined); // "status" says why
  return { client, call };
}

function bufferOf(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}
