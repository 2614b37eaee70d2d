import { createServer, type Server } from "node:http";
import { silentLogger } from "../../../../src/base/logger.ts";
import { defineMethod } from "../../../../src/grpc/method.ts";
import { implement } from "../../../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../../../src/grpc/server/start-grpc-server.ts";
import { map, message, nested, repeated, string, uint32 } from "../../../../src/protobuf/wire/message.ts";

/** Who sends this header is let in; a connection without HTTP must come from the shop. */
const PASS = { header: "x-pass", value: "please" };
const CALLER = /\/sa\/shop$/;

/** Answers checks over HTTP, and tells in `seen` what it was asked. */
export function httpAuthorizer(name: string, seen: string[]): Server {
  return createServer((request, response) => {
    const sent = Object.keys(request.headers).filter((header) => header.startsWith("x-sent"));
    seen.push([request.method, request.url, ...sent].join(" "));
    const isAllowed = request.headers[PASS.header] === PASS.value;
    const headers = { "x-decided-by": name, "x-reason": isAllowed ? "asked nicely" : "did not ask nicely" };
    response.writeHead(isAllowed ? 200 : 418, headers).end(isAllowed ? "" : `${name} says no`);
  });
}

/** envoy.service.auth.v3: what is read and written of its messages. */
const header = message({ key: string(1), value: string(2) });
const peer = message({ principal: string(4) });
const httpRequest = message({ method: string(2), headers: map(3, string(2)), path: string(4) });
const attributes = message({ source: nested(1, peer), request: nested(4, message({ http: nested(2, httpRequest) })) });
const checkRequest = message({ attributes: nested(1, attributes) });
const headerOption = message({ header: nested(1, header) });
const denied = message({
  status: nested(1, message({ code: uint32(1) })),
  headers: repeated(2, headerOption),
  body: string(3),
});
const checkResponse = message({
  status: nested(1, message({ code: uint32(1) })),
  deniedResponse: nested(2, denied),
  okResponse: nested(3, message({ headers: repeated(2, headerOption) })),
});
const CHECK = defineMethod({
  path: "/envoy.service.auth.v3.Authorization/Check",
  kind: "unary",
  request: checkRequest,
  response: checkResponse,
});
const OK = 0;
const PERMISSION_DENIED = 7;

/** The same over gRPC. */
export async function startGrpcAuthorizer(port: number, name: string, seen: string[]): Promise<void> {
  await startGrpcServer({
    listen: { host: "0.0.0.0", port },
    log: silentLogger,
    methods: [
      implement(CHECK, ({ attributes: asked }) => {
        const http = asked?.request?.http;
        const isAllowed =
          http === undefined
            ? CALLER.test(asked?.source?.principal ?? "")
            : http.headers?.get(PASS.header) === PASS.value;
        seen.push(http === undefined ? "connection" : `${http.method} ${http.path}`);
        const headers = [{ header: { key: "x-decided-by", value: name } }];
        const deniedResponse = { status: { code: 418 }, headers, body: `${name} says no` };
        return isAllowed
          ? { status: { code: OK }, okResponse: { headers }, deniedResponse: undefined }
          : { status: { code: PERMISSION_DENIED }, deniedResponse, okResponse: undefined };
      }),
    ],
  });
}
