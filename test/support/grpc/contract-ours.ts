import { silentLogger } from "../../../src/base/logger.ts";
import type { CallOptions } from "../../../src/grpc/client/client-types.ts";
import { createGrpcChannel } from "../../../src/grpc/client/create-grpc-channel.ts";
import { Metadata } from "../../../src/grpc/metadata.ts";
import { rawMethod } from "../../../src/grpc/method.ts";
import { implement, type ServerCall } from "../../../src/grpc/server/server-types.ts";
import { type GrpcServerOptions, startGrpcServer } from "../../../src/grpc/server/start-grpc-server.ts";
import { GrpcError } from "../../../src/grpc/status.ts";
import { GRPC_STATUS_NAMES } from "../../../src/protocol/grpc-status-names.ts";
import { opensslCertificates } from "../certs/openssl-certificates.ts";
import {
  BIDI_END,
  BIDI_FAIL,
  type Command,
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

const METHODS = {
  unary: rawMethod(PATHS.unary, "unary"),
  clientStream: rawMethod(PATHS.clientStream, "client-stream"),
  serverStream: rawMethod(PATHS.serverStream, "server-stream"),
  bidi: rawMethod(PATHS.bidi, "bidi"),
};

export async function startOurServer(
  transport: Transport,
  folder: string,
  options: Partial<GrpcServerOptions> = {},
): Promise<ContractServer> {
  const cancelled: string[] = [];
  const { ca, server: serverKey } = transport === "tls" ? opensslCertificates() : { ca: "", server: undefined };
  const credentials = { ...serverKey, ca, requestCert: true };
  const server = await startGrpcServer({
    listen: transport === "unix" ? { path: `${folder}/ours` } : { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    maxReceiveBytes: 64 * 1024 * 1024,
    methods: contractMethods(cancelled),
    ...(transport === "tls" && { tls: () => credentials }),
    ...options,
  });
  const { address } = server;
  const target = "path" in address ? `unix:${address.path}` : `127.0.0.1:${address.port}`;
  return { target, cancelled, stop: () => server.stop() };
}

function contractMethods(cancelled: string[]) {
  const watch = (call: ServerCall) =>
    call.signal.addEventListener("abort", () => cancelled.push((call.signal.reason as GrpcError).code));
  return [
    implement(METHODS.unary, async (request, call) => {
      const asked = parseCommand(request);
      echoMetadata(call);
      if (asked.hang) await hang(call, watch);
      failAsAsked(asked);
      return responseOf(asked, request);
    }),
    implement(METHODS.clientStream, async (requests, call) => {
      echoMetadata(call);
      let total = 0;
      for await (const request of requests) {
        if (request.toString() === STREAM_REFUSE) throw new GrpcError("FAILED_PRECONDITION", "refused");
        total += request.length;
      }
      return Buffer.from(String(total));
    }),
    implement(METHODS.serverStream, async (request, call) => {
      const asked = parseCommand(request);
      echoMetadata(call);
      for (let sent = 0; sent < (asked.count ?? 1); sent++) await call.write(responseOf(asked, request));
      if (asked.hang) await hang(call, watch);
      failAsAsked(asked);
    }),
    implement(METHODS.bidi, async (requests, call) => {
      watch(call);
      call.sendHeaders();
      for await (const request of requests) {
        const text = request.length < 20 ? request.toString() : "";
        if (text === BIDI_END) return;
        if (text === BIDI_FAIL) throw new GrpcError("ABORTED", "failed as asked");
        await call.write(request);
      }
    }),
  ];
}

function echoMetadata(call: ServerCall): void {
  const echoed = new Metadata();
  for (const [name, value] of call.metadata) if (name.startsWith("x-")) echoed.append(name, value);
  call.sendHeaders(echoed);
  call.trailers.merge(echoed);
}

function failAsAsked({ status, message }: Command): void {
  const name = GRPC_STATUS_NAMES[status ?? 0];
  if (name !== undefined && name !== "OK") throw new GrpcError(name, message ?? "");
}

function hang(call: ServerCall, watch: (call: ServerCall) => void): Promise<never> {
  watch(call);
  return new Promise((_resolve, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
}

export function createOurClient(target: string, transport: Transport): ContractClient {
  const tls = transport === "tls" ? opensslCertificates() : undefined;
  const channel = createGrpcChannel(target, {
    maxReceiveBytes: 64 * 1024 * 1024,
    ...(tls && { tls: () => ({ ca: tls.ca, ...tls.client, serverName: "localhost" }) }),
  });
  return {
    async unary(request, options) {
      const seen: { headers: Entries; trailers: Entries } = { headers: [], trailers: [] };
      const response = await channel
        .unary(METHODS.unary, request, {
          ...toCallOptions(options),
          onHeaders: (headers) => void Object.assign(seen, { headers: [...headers] }),
          onTrailers: (trailers) => void Object.assign(seen, { trailers: [...trailers] }),
        })
        .catch(rethrow);
      return { response, ...seen };
    },
    serverStream: async (request, options) =>
      translated(await channel.serverStream(METHODS.serverStream, request, toCallOptions(options)).catch(rethrow)),
    async clientStream(requests, options) {
      const call = await channel.clientStream(METHODS.clientStream, toCallOptions(options)).catch(rethrow);
      // A call that the server ends early refuses further writes; its answer says why.
      for (const request of requests) await call.write(request).catch(() => undefined);
      return (options?.leaveOpen ? call.response() : call.finish()).catch(rethrow);
    },
    async bidi(options) {
      const call = await channel.bidi(METHODS.bidi, toCallOptions(options)).catch(rethrow);
      return {
        write: (message) => call.write(message),
        end: () => call.end(),
        cancel: () => call.cancel(),
        responses: translated(call.responses)[Symbol.asyncIterator](),
      };
    },
    stop: () => channel.stop(),
  };
}

function toCallOptions(options: ContractOptions = {}): CallOptions {
  const metadata = new Metadata();
  for (const [name, value] of options.metadata ?? []) metadata.append(name, value);
  return {
    metadata,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(options.signal && { signal: options.signal }),
  };
}

async function* translated(responses: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* responses;
  } catch (failure) {
    rethrow(failure);
  }
}

function rethrow(failure: unknown): never {
  if (!(failure instanceof GrpcError)) throw failure;
  throw new ContractFailure(failure.status, failure.message, [...failure.metadata]);
}
