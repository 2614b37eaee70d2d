import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { deltaDiscoveryRequest, discoveryRequest } from "../../../src/protobuf/wire/discovery.ts";
import { ADS_PATHS, SDS_SERVICE, type XdsProtocol } from "../../../src/xds/methods.ts";
import { until } from "../wait/until.ts";

export const XDS_PATHS = ADS_PATHS;
export type XdsKind = XdsProtocol;

const SDS_PATHS = { sotw: `/${SDS_SERVICE}/StreamSecrets`, delta: `/${SDS_SERVICE}/DeltaSecrets` } as const;

const raw = (bytes: Buffer) => bytes;

/** One client's stream as the control plane sees it. */
export interface ServedStream {
  readonly kind: XdsKind;
  readonly metadata: grpc.Metadata;
  /** `:authority`. */
  readonly host: string;
  readonly requests: Buffer[];
  /** Type URLs of the requests so far. */
  types(): string[];
  send(message: Buffer): boolean;
  sendHeaders(headers: Readonly<Record<string, string>>): void;
  end(): void;
  fail(code: grpc.status, details: string): void;
  /** Resolves when `count` requests have come. */
  received(count: number): Promise<void>;
  readonly closed: Promise<void>;
}

export interface FakeXdsServer extends AsyncDisposable {
  readonly address: string;
  readonly streams: ServedStream[];
  /** The stream with that index, as soon as it exists. */
  stream(index: number): Promise<ServedStream>;
  forceStop(): void;
}

export interface FakeXdsServerOptions {
  /** Any free one when absent. */
  readonly port?: number;
  readonly host?: string;
  readonly credentials?: grpc.ServerCredentials;
  /** Unix sockets instead of a port. */
  readonly sockets?: readonly string[];
  /** A script that answers by itself; what it returns is called with each request of the stream. */
  readonly onStream?: (stream: ServedStream) => (request: Buffer) => void;
}

/** The control plane of tests, on grpc-js, so that the other side is not our own code. The test speaks on its streams, or a script does. */
export async function startFakeXdsServer(options: FakeXdsServerOptions = {}): Promise<FakeXdsServer> {
  const { host = "127.0.0.1", port = 0, credentials = grpc.ServerCredentials.createInsecure() } = options;
  const server = new grpc.Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  const streams: ServedStream[] = [];
  const serve = (kind: XdsKind) => (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
    const requests: Buffer[] = [];
    const decode = kind === "sotw" ? discoveryRequest.decode : deltaDiscoveryRequest.decode;
    call.on("end", () => call.end());
    const closed = new Promise<void>((resolve) => {
      call.on("close", resolve);
      call.on("cancelled", resolve);
    });
    call.on("error", () => undefined);
    const stream: ServedStream = {
      kind,
      metadata: call.metadata,
      host: call.getHost(),
      requests,
      types: () => requests.map((bytes) => decode(bytes).typeUrl),
      send: (message) => call.write(message),
      sendHeaders: (headers) => {
        const metadata = new grpc.Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        call.sendMetadata(metadata);
      },
      end: () => call.end(),
      fail: (code, details) => call.emit("error", { code, details }),
      received: (count) => until(`${count} requests`, () => requests.length >= count || `${requests.length} requests`),
      closed,
    };
    streams.push(stream);
    const script = options.onStream?.(stream);
    call.on("data", (bytes: Buffer) => {
      requests.push(bytes);
      script?.(bytes);
    });
  };
  const definition = (path: string) => ({
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  });
  server.addService(
    {
      sotw: definition(XDS_PATHS.sotw),
      delta: definition(XDS_PATHS.delta),
      sotwSecrets: definition(SDS_PATHS.sotw),
      deltaSecrets: definition(SDS_PATHS.delta),
    },
    { sotw: serve("sotw"), delta: serve("delta"), sotwSecrets: serve("sotw"), deltaSecrets: serve("delta") },
  );
  const bind = (address: string) =>
    new Promise<number>((resolve, reject) => {
      server.bindAsync(address, credentials, (error, actual) => (error ? reject(error) : resolve(actual)));
    });
  for (const socket of options.sockets ?? []) {
    rmSync(socket, { force: true });
    await bind(`unix:${socket}`);
  }
  const bound = options.sockets === undefined ? await bind(`${host}:${port}`) : 0;
  return {
    address: `${host}:${bound}`,
    streams,
    async stream(index) {
      await until(`stream ${index}`, () => streams.length > index || `${streams.length} streams`);
      const found = streams[index];
      if (found === undefined) throw new Error(`no stream ${index}`);
      return found;
    },
    forceStop: () => server.forceShutdown(),
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}

/** A short path for a socket, gone with the block. */
export function socketFolder(): { readonly path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "xds-"));
  return { path: join(folder, "sub", "XDS"), [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
