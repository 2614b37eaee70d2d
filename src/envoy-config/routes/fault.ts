import type { HttpFault } from "../../istio-api/specs.ts";
import { type AnyMessage, pack } from "../../protobuf/envoy/index.ts";
import type { FaultDelay } from "../../protobuf/gen/envoy/extensions/filters/common/fault/v3.ts";
import type { FaultAbort } from "../../protobuf/gen/envoy/extensions/filters/http/fault/v3.ts";
import { GRPC_STATUS_NAMES } from "../../protocol/grpc-status-names.ts";
import { buildFraction, buildPercent } from "./envoy-values.ts";

const STATUS_NAMES: readonly string[] = GRPC_STATUS_NAMES;

export const FAULT_FILTER = "envoy.filters.http.fault";

/** Faults for the requests of one route. Kinds that Envoy does not know are left out; undefined when nothing is left. */
export function buildFault({ delay, abort }: HttpFault): AnyMessage | undefined {
  const config = { ...(delay && buildDelay(delay)), ...(abort && buildAbort(abort)) };
  if (Object.keys(config).length === 0) return undefined;
  return pack("envoy.extensions.filters.http.fault.v3.HTTPFault", config);
}

function buildDelay({ fixedDelay, percent, percentage }: NonNullable<HttpFault["delay"]>): { delay?: FaultDelay } {
  if (fixedDelay === undefined) return {};
  return { delay: { fixedDelay, percentage: percentage ? buildFraction(percentage.value) : buildPercent(percent) } };
}

/** Without percentage Envoy never aborts. */
function buildAbort({ httpStatus, grpcStatus, percentage }: NonNullable<HttpFault["abort"]>): { abort?: FaultAbort } {
  const share = percentage && { percentage: buildFraction(percentage.value) };
  if (httpStatus !== undefined) return { abort: { httpStatus, ...share } };
  const code = grpcStatus === undefined ? -1 : STATUS_NAMES.indexOf(grpcStatus);
  return code < 0 ? {} : { abort: { grpcStatus: code, ...share } };
}
