import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Logger } from "../base/logger.ts";
import { describePeer } from "./peer.ts";
import { dispatchStream } from "./server-dispatch.ts";
import type { Implementation } from "./server-types.ts";

export interface RequestHandlerOptions {
  readonly methods: readonly Implementation[];
  readonly log: Logger;
  readonly maxReceiveBytes: number;
}

/** gRPC requests on an HTTP/2 session that somebody else owns, for ports that serve other things too. */
export function createRequestHandler(
  options: RequestHandlerOptions,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => void {
  const dispatcher = {
    methods: new Map(options.methods.map((each) => [each.path, each])),
    services: new Set(options.methods.map((each) => each.path.slice(1, each.path.lastIndexOf("/")))),
    log: options.log,
    limits: { maxReceiveBytes: options.maxReceiveBytes, maxSendBytes: 2 ** 31 - 1 },
  };
  return (stream, headers, rawHeaders) => {
    const socket = stream.session?.socket;
    if (socket === undefined) return stream.destroy();
    const traffic = { openCalls: 1, answers: 0 };
    dispatchStream(dispatcher, stream, { headers, rawHeaders, peer: describePeer(socket), traffic });
  };
}
