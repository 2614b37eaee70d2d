import * as grpc from "@grpc/grpc-js";
import { opensslCertificates } from "../certs/openssl-certificates.ts";
import {
  BIDI_END,
  BIDI_FAIL,
  type ContractClient,
  ContractFailure,
  type ContractOptions,
  type ContractServer,
  type Entries,
  PATHS,
  parseCommand,
  responseOf,
  STREAM_REFUSE,
  type Transport,
} from "./contract.ts";

const same = (bytes: Buffer) => bytes;
const LIMITS = { "grpc.max_receive_message_length": 64 * 1024 * 1024, "grpc.max_send_message_length": -1 };

const definition = (path: string, requestStream: boolean, responseStream: boolean) => ({
  path,
  requestStream,
  responseStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

const SERVICE = {
  unary: definition(PATHS.unary, false, false),
  clientStream: definition(PATHS.clientStream, true, false),
  serverStream: definition(PATHS.serverStream, false, true),
  bidi: definition(PATHS.bidi, true, true),
};

export async function startJsServer(
  transport: Transport,
  folder: string,
  options: grpc.ServerOptions = {},
): Promise<ContractServer> {
  const cancelled: string[] = [];
  const server = new grpc.Server({ ...LIMITS, ...options });
  server.addService(SERVICE, jsHandlers(cancelled));
  const bound = transport === "unix" ? `unix:${folder}/js` : "127.0.0.1:0";
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(bound, serverCredentials(transport), (failure, bindPort) =>
      failure === null ? resolve(bindPort) : reject(failure),
    ),
  );
  return {
    target: transport === "unix" ? bound : `127.0.0.1:${port}`,
    cancelled,
    stop: async () => server.forceShutdown(),
  };
}

function serverCredentials(transport: Transport): grpc.ServerCredentials {
  if (transport !== "tls") return grpc.ServerCredentials.createInsecure();
  const { ca, server } = opensslCertificates();
  const pair = { private_key: Buffer.from(server.key), cert_chain: Buffer.from(server.cert) };
  return grpc.ServerCredentials.createSsl(Buffer.from(ca), [pair], true);
}

function jsHandlers(cancelled: string[]): grpc.UntypedServiceImplementation {
  const watch = (call: { on(event: "cancelled", listener: () => void): unknown }) =>
    call.on("cancelled", () => cancelled.push("CANCELLED"));
  return {
    unary(call: grpc.ServerUnaryCall<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) {
      const asked = parseCommand(call.request);
      const trailers = echoMetadata(call);
      if (asked.hang) return watch(call);
      if (asked.status) return callback({ code: asked.status, details: asked.message ?? "", metadata: trailers });
      callback(null, responseOf(asked, call.request), trailers);
    },
    clientStream(call: grpc.ServerReadableStream<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) {
      let total = 0;
      call.on("data", (request: Buffer) => {
        if (request.toString() === STREAM_REFUSE)
          callback({ code: grpc.status.FAILED_PRECONDITION, details: "refused" });
        total += request.length;
      });
      call.on("end", () => callback(null, Buffer.from(String(total))));
    },
    async serverStream(call: grpc.ServerWritableStream<Buffer, Buffer>) {
      const asked = parseCommand(call.request);
      const trailers = echoMetadata(call);
      for (let sent = 0; sent < (asked.count ?? 1); sent++) {
        if (!call.write(responseOf(asked, call.request))) await new Promise((resolve) => call.once("drain", resolve));
      }
      if (asked.hang) return watch(call);
      if (asked.status) call.emit("error", { code: asked.status, details: asked.message ?? "", metadata: trailers });
      else call.end(trailers);
    },
    bidi(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
      watch(call);
      call.sendMetadata(new grpc.Metadata());
      call.on("data", (request: Buffer) => {
        const text = request.length < 20 ? request.toString() : "";
        if (text === BIDI_END) call.end();
        else if (text === BIDI_FAIL) call.emit("error", { code: grpc.status.ABORTED, details: "failed as asked" });
        else if (!call.write(request)) {
          call.pause();
          call.once("drain", () => call.resume());
        }
      });
      call.on("end", () => call.end());
    },
  };
}

function echoMetadata(call: { metadata: grpc.Metadata; sendMetadata(metadata: grpc.Metadata): void }): grpc.Metadata {
  const echoed = new grpc.Metadata();
  for (const [name, value] of entriesOf(call.metadata)) if (name.startsWith("x-")) echoed.add(name, value);
  call.sendMetadata(echoed);
  return echoed.clone();
}

export function createJsClient(target: string, transport: Transport): ContractClient {
  const client = new grpc.Client(target, clientCredentials(transport), {
    ...LIMITS,
    ...(transport === "tls" && { "grpc.ssl_target_name_override": "localhost" }),
    "grpc.enable_retries": 0,
  });
  const request = (path: string) => [path, same, same] as const;
  return {
    unary(message, options) {
      const seen: { headers: Entries; trailers: Entries } = { headers: [], trailers: [] };
      return new Promise((resolve, reject) => {
        const [metadata, call] = toCallOptions(options);
        let answer: Buffer = Buffer.alloc(0);
        const started = client.makeUnaryRequest(
          ...request(PATHS.unary),
          message,
          metadata,
          call,
          (failure, response) => {
            if (failure !== null) reject(toFailure(failure));
            else answer = response ?? answer;
          },
        );
        abortWith(options, started);
        started.on("metadata", (received) => void Object.assign(seen, { headers: entriesOf(received) }));
        started.on("status", (status) => resolve({ response: answer, ...seen, trailers: entriesOf(status.metadata) }));
      });
    },
    async serverStream(message, options) {
      const [metadata, call] = toCallOptions(options);
      const started = client.makeServerStreamRequest(...request(PATHS.serverStream), message, metadata, call);
      abortWith(options, started);
      return translated(started);
    },
    clientStream(messages, options) {
      return new Promise((resolve, reject) => {
        const [metadata, call] = toCallOptions(options);
        const started = client.makeClientStreamRequest(
          ...request(PATHS.clientStream),
          metadata,
          call,
          (failure, response) => (failure === null ? resolve(response ?? Buffer.alloc(0)) : reject(toFailure(failure))),
        );
        for (const message of messages) started.write(message);
        if (!options?.leaveOpen) started.end();
      });
    },
    async bidi(options) {
      const started = client.makeBidiStreamRequest(...request(PATHS.bidi), ...toCallOptions(options));
      abortWith(options, started);
      return {
        write: (message) => new Promise((resolve) => void started.write(message, () => resolve())),
        end: () => started.end(),
        cancel: () => started.cancel(),
        responses: translated(started)[Symbol.asyncIterator](),
      };
    },
    stop: async () => client.close(),
  };
}

function clientCredentials(transport: Transport): grpc.ChannelCredentials {
  if (transport !== "tls") return grpc.credentials.createInsecure();
  const { ca, client } = opensslCertificates();
  return grpc.credentials.createSsl(Buffer.from(ca), Buffer.from(client.key), Buffer.from(client.cert));
}

function toCallOptions(options: ContractOptions = {}): [grpc.Metadata, grpc.CallOptions] {
  const metadata = new grpc.Metadata();
  for (const [name, value] of options.metadata ?? []) metadata.add(name, value);
  return [metadata, options.timeoutMs === undefined ? {} : { deadline: Date.now() + options.timeoutMs }];
}

function abortWith(options: ContractOptions | undefined, call: { cancel(): void }): void {
  options?.signal?.addEventListener("abort", () => call.cancel());
}

function entriesOf(metadata: grpc.Metadata): Entries {
  const names = Object.keys(metadata.getMap());
  return names.flatMap((name) => metadata.get(name).map((value) => [name, value] as const));
}

async function* translated(responses: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* responses;
  } catch (failure) {
    throw toFailure(failure as grpc.ServiceError);
  }
}

function toFailure(failure: grpc.ServiceError): ContractFailure {
  return new ContractFailure(failure.code, failure.details, entriesOf(failure.metadata));
}
