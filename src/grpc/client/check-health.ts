import { message, string, uint32 } from "../../protobuf/wire/message.ts";
import { defineMethod } from "../method.ts";
import type { GrpcChannelOptions } from "./client-types.ts";
import { createGrpcChannel } from "./create-grpc-channel.ts";

/** grpc.health.v1.HealthCheckResponse.ServingStatus by number. */
const SERVING_STATUS = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;

/** Also the service's name of it, for servers. */
export const HEALTH_CHECK = defineMethod({
  path: "/grpc.health.v1.Health/Check",
  kind: "unary",
  request: message({ service: string(1) }),
  response: message({ status: uint32(1) }),
});

export interface HealthCheckOptions extends Pick<GrpcChannelOptions, "connect" | "userAgent"> {
  readonly service: string;
  /** For connecting and asking together. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** The connection itself was not made in time or was refused; `cause` has the details. */
export class HealthConnectError extends Error {}

/** Asks a plaintext server for the standard health status. Rejects with a GrpcError of the call, or a HealthConnectError before it. */
export async function checkHealth(target: string, options: HealthCheckOptions): Promise<string> {
  const { service, timeoutMs, signal, ...channelOptions } = options;
  const startedAt = performance.now();
  await using channel = createGrpcChannel(target, { ...channelOptions, connectTimeoutMs: Math.max(1, timeoutMs) });
  try {
    await channel.connect(signal);
  } catch (cause) {
    throw new HealthConnectError("context deadline exceeded", { cause });
  }
  const remainingMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
  const answer = await channel.unary(HEALTH_CHECK, { service }, { timeoutMs: remainingMs, ...(signal && { signal }) });
  const { status = 0 } = answer;
  return SERVING_STATUS[status] ?? `status ${status}`;
}
