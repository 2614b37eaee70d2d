import { GRPC_STATUS_NAMES } from "../../protocol/grpc-status-names.ts";
import type { HttpFault } from "../specs.ts";
import { statusReason } from "./http-action.ts";
import type { Report } from "./report.ts";
import { durationReason, percentReason } from "./values.ts";

const GRPC_STATUSES: ReadonlySet<string> = new Set(GRPC_STATUS_NAMES);

export function validateFault(report: Report, { abort, delay }: HttpFault): void {
  if (abort === undefined && delay === undefined) {
    report.error("HTTP fault injection must have an abort and/or a delay");
  }
  if (delay !== undefined) {
    const at = report.at("delay");
    at.error(percentReason(delay.percent), "percent");
    at.error(percentReason(delay.percentage?.value), "percentage");
    at.error(durationReason(delay.fixedDelay), "fixedDelay");
    at.error(durationReason(delay.exponentialDelay), "exponentialDelay");
    if (delay.fixedDelay === undefined) at.warn("without fixedDelay the delay has no effect");
  }
  if (abort === undefined) return;
  const at = report.at("abort");
  at.error(percentReason(abort.percentage?.value), "percentage");
  if (abort.httpStatus !== undefined) at.error(statusReason(abort.httpStatus), "httpStatus");
  if (abort.grpcStatus !== undefined && !GRPC_STATUSES.has(abort.grpcStatus)) {
    at.error(
      `gRPC status ${JSON.stringify(abort.grpcStatus)} is not supported. See https://github.com/grpc/grpc/blob/master/doc/statuscodes.md for a list of supported codes`,
      "grpcStatus",
    );
  }
  if (abort.httpStatus === undefined && abort.grpcStatus === undefined) {
    at.warn("without httpStatus or grpcStatus the abort has no effect");
  }
}
