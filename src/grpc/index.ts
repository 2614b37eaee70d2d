export type { KeepaliveOptions } from "../net/http2/keepalive.ts";
export { checkHealth, HealthConnectError } from "./client/check-health.ts";
export type {
  ClientCredentials,
  ClientTls,
  GrpcChannel,
  GrpcChannelOptions,
  RawClientCall,
} from "./client/client-types.ts";
export { createGrpcChannel } from "./client/create-grpc-channel.ts";
export { NoGrpcAnswer } from "./client/response-status.ts";
export type { Encoding } from "./compression.ts";
export { gzipPieces } from "./compression-pieces.ts";
export { createCertificate } from "./create-certificate.ts";
export type { FrameSink, FrameStream } from "./frame-scanner.ts";
export { inflateFrames } from "./inflate-frames.ts";
export { assembleMessages } from "./message-assembler.ts";
export { Metadata, MetadataError } from "./metadata.ts";
export { type Codec, defineMethod, type Method, rawCodec } from "./method.ts";
export { createGrpcAcceptor, type GrpcAcceptor, type GrpcAcceptorOptions } from "./server/create-grpc-acceptor.ts";
export type { Peer } from "./server/peer.ts";
export {
  type Implementation,
  implement,
  implementRaw,
  type RawServerCall,
  type ServerCall,
  type ServerWriter,
} from "./server/server-types.ts";
export { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "./server/start-grpc-server.ts";
export {
  GrpcError,
  goStatusName,
  rpcErrorText,
  statusNumber,
} from "./status.ts";
