import { rmSync } from "node:fs";
import * as grpc from "@grpc/grpc-js";
import { ADS_PATHS, SDS_SERVICE, type XdsProtocol } from "../../../src/xds/methods.ts";
import { createServedStreams, type ScriptOptions, type ServedStreams } from "./served-streams.ts";

export type { ServedStream } from "./served-streams.ts";

const SDS_PATHS = { sotw: `/${SDS_SERVICE}/StreamSecrets`, delta: `/${SDS_SERVICE}/DeltaSecrets` } as const;

export interface ControlPlane extends ServedStreams, AsyncDisposable {
  readonly address: string;
  forceStop(): void;
}

export interface ControlPlaneOptions extends ScriptOptions {
  /** Any free one when absent. */
  readonly port?: number;
  readonly host?: string;
  readonly credentials?: grpc.ServerCredentials;
  /** Unix sockets instead of a port. */
  readonly sockets?: readonly string[];
}

/**
 * The control plane of tests: ADS and SDS, on grpc-js, so that the other side is not our own code. The test speaks on its streams, or a
 * script does (`resources`). With a CA and TLS: `startMeshControlPlane`.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { host = "127.0.0.1", port = 0, credentials = grpc.ServerCredentials.createInsecure() } = options;
  const server = new grpc.Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  const { open, ...streams } = createServedStreams(options);
  const serve = (kind: XdsProtocol) => (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
    call.on("end", () => call.end());
    call.on("error", () => undefined);
    const take = open({
      kind,
      metadata: call.metadata,
      host: call.getHost(),
      send: (message) => call.write(message),
      sendHeaders: (headers) => {
        const metadata = new grpc.Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        call.sendMetadata(metadata);
      },
      end: () => call.end(),
      fail: (code, details) => call.emit("error", { code, details }),
      closed: new Promise<void>((resolve) => void call.on("close", resolve).on("cancelled", resolve)),
    });
    call.on("data", take);
  };
  const paths = {
    sotw: ADS_PATHS.sotw,
    delta: ADS_PATHS.delta,
    sotwSecrets: SDS_PATHS.sotw,
    deltaSecrets: SDS_PATHS.delta,
  };
  const definitions = Object.entries(paths).map(([name, path]) => [name, bidiMethod(path)] as const);
  server.addService(Object.fromEntries(definitions), {
    sotw: serve("sotw"),
    delta: serve("delta"),
    sotwSecrets: serve("sotw"),
    deltaSecrets: serve("delta"),
  });
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
    ...streams,
    address: `${host}:${bound}`,
    forceStop: () => server.forceShutdown(),
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}

const raw = (bytes: Buffer) => bytes;

function bidiMethod(path: string): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  };
}
