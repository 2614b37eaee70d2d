import { silentLogger } from "../../../src/base/logger.ts";
import { rawMethod } from "../../../src/grpc/method.ts";
import { implement } from "../../../src/grpc/server/server-types.ts";
import {
  type GrpcServer,
  type GrpcServerOptions,
  startGrpcServer,
} from "../../../src/grpc/server/start-grpc-server.ts";

export const ECHO = rawMethod("/test.Echo/Unary", "unary");
export const ECHO_BIDI = rawMethod("/test.Echo/Bidi", "bidi");

/** A server that echoes what it receives, on a free port unless the options name one. */
export function startEchoServer(options: Partial<GrpcServerOptions> = {}): Promise<GrpcServer> {
  return startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    methods: [
      implement(ECHO, (request) => request),
      implement(ECHO_BIDI, async (requests, call) => {
        for await (const request of requests) await call.write(request);
      }),
    ],
    ...options,
  });
}

/** 0 for a unix socket. */
export function portOf({ address }: GrpcServer): number {
  return "port" in address ? address.port : 0;
}
