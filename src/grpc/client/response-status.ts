import type { IncomingHttpHeaders } from "node:http2";
import { reasonPhrase } from "../../net/http-status.ts";
import type { Metadata } from "../metadata.ts";
import { GrpcError, statusName } from "../status.ts";
import { decodeStatusMessage } from "../status-message.ts";
import { http2ErrorName, statusOfHttp, statusOfReset } from "./status-mapping.ts";

/** The answer came from something in front of the server: a load balancer, a proxy. The code is only what gRPC makes of it. */
export class NoGrpcAnswer extends GrpcError {}

/** What is wrong with an answer that carries no status of its own; undefined when it is gRPC that we can read. */
export function headersFailure(headers: IncomingHttpHeaders, accepted: string): GrpcError | undefined {
  const httpStatus = Number(headers[":status"]);
  if (httpStatus !== 200) {
    return new NoGrpcAnswer(
      statusOfHttp(httpStatus),
      `unexpected HTTP status code received from server: ${httpStatus} (${reasonPhrase(httpStatus) ?? "unknown"})`,
    );
  }
  const contentType = headers["content-type"] ?? "";
  if (!/^application\/grpc([+;]|$)/i.test(contentType)) {
    return new NoGrpcAnswer("UNKNOWN", `unexpected content-type received from server: ${JSON.stringify(contentType)}`);
  }
  const encoding = headers["grpc-encoding"]?.toString() ?? "identity";
  if (accepted.split(",").includes(encoding)) return undefined;
  return new GrpcError("INTERNAL", `grpc: Decompressor is not installed for grpc-encoding ${JSON.stringify(encoding)}`);
}

/** Undefined for OK. */
export function statusFailure(headers: IncomingHttpHeaders, trailers: Metadata): GrpcError | undefined {
  const header = headers["grpc-status"]?.toString();
  if (header === undefined)
    return new GrpcError("UNKNOWN", "the trailers carry no grpc-status", { metadata: trailers });
  const code = statusName(header);
  if (code === "OK") return undefined;
  return new GrpcError(code, decodeStatusMessage(headers["grpc-message"]?.toString() ?? ""), { metadata: trailers });
}

export function resetFailure(code: number): GrpcError {
  return new GrpcError(statusOfReset(code), `stream terminated by RST_STREAM with error code: ${http2ErrorName(code)}`);
}
