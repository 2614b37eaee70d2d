export { checkHealth, HEALTH_CHECK, type HealthCheckOptions, HealthConnectError } from "./check-health.ts";
export type {
  BidiCall,
  CallCredentials,
  CallOptions,
  ClientCredentials,
  ClientStreamCall,
  ClientTls,
  Connect,
  GrpcChannel,
  GrpcChannelOptions,
  RawClientCall,
  RequestWriter,
  ResponseReader,
  ServerStreamCall,
} from "./client-types.ts";
export type { Encoding } from "./compression.ts";
export { gzipPieces } from "./compression-pieces.ts";
export { createGrpcAcceptor, type GrpcAcceptor, type GrpcAcceptorOptions } from "./create-grpc-acceptor.ts";
export { createGrpcChannel } from "./create-grpc-channel.ts";
export { createRequestHandler, type RequestHandlerOptions } from "./create-request-handler.ts";
export { buildFrameHeader, FRAME_HEADER_BYTES, FrameScanner, type FrameSink } from "./frame-scanner.ts";
export type { FrameStream } from "./frame-stream.ts";
export { type InflateOptions, inflateFrames } from "./inflate-frames.ts";
export type { KeepaliveOptions } from "./keepalive.ts";
export { addressText, type ListenAddress, type ListenOptions } from "./listen.ts";
export { ListenError } from "./listen-error.ts";
export { assembleMessages } from "./message-assembler.ts";
export { Metadata, MetadataError, type MetadataInit, type MetadataValue } from "./metadata.ts";
export { type CallKind, type Codec, defineMethod, type Method, rawCodec, rawMethod } from "./method.ts";
export type { Peer, PeerTls } from "./peer.ts";
export type { PingPolicy } from "./ping-policy.ts";
export { type ReservedSocket, reserveSocket } from "./reserve-socket.ts";
export { NoGrpcAnswer } from "./response-status.ts";
export type { ServerCredentials, ServerTls } from "./server-tls.ts";
export {
  type Handlers,
  type Implementation,
  implement,
  implementRaw,
  type RawHandler,
  type RawServerCall,
  type ServerCall,
  type ServerWriter,
} from "./server-types.ts";
export { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "./start-grpc-server.ts";
export {
  GRPC_STATUS_NAMES,
  GrpcError,
  type GrpcErrorOptions,
  type GrpcStatusName,
  goStatusName,
  rpcErrorText,
  statusNumber,
} from "./status.ts";
export { parseTarget, type Target, TargetError } from "./target.ts";
