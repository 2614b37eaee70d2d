export { checkHealth, HealthConnectError } from "./check-health.ts";
export type {
  ClientCredentials,
  ClientTls,
  GrpcChannel,
  GrpcChannelOptions,
  RawClientCall,
} from "./client-types.ts";
export type { Encoding } from "./compression.ts";
export { gzipPieces } from "./compression-pieces.ts";
export { createGrpcAcceptor, type GrpcAcceptor, type GrpcAcceptorOptions } from "./create-grpc-acceptor.ts";
export { createGrpcChannel } from "./create-grpc-channel.ts";
export type { FrameSink } from "./frame-scanner.ts";
export type { FrameStream } from "./frame-stream.ts";
export { inflateFrames } from "./inflate-frames.ts";
export type { KeepaliveOptions } from "./keepalive.ts";
export { assembleMessages } from "./message-assembler.ts";
export { Metadata, MetadataError } from "./metadata.ts";
export { type Codec, defineMethod, type Method, rawCodec } from "./method.ts";
export type { Peer } from "./peer.ts";
export { NoGrpcAnswer } from "./response-status.ts";
export {
  type Implementation,
  implement,
  implementRaw,
  type RawServerCall,
  type ServerCall,
  type ServerWriter,
} from "./server-types.ts";
export { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "./start-grpc-server.ts";
export {
  GRPC_STATUS_NAMES,
  GrpcError,
  type GrpcStatusName,
  goStatusName,
  rpcErrorText,
  statusNumber,
} from "./status.ts";
