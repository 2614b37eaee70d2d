import { formatDurationMs } from "../../base/duration.ts";
import { checkHealth, GrpcError, HealthConnectError, rpcErrorText } from "../../grpc/index.ts";
import { joinHostPort } from "../../net/host-port.ts";
import type { ProbeMethod } from "../core/health-config.ts";
import type { ProbeResult } from "../core/health-state.ts";

/** The standard health service; anything but SERVING is unhealthy and says so. */
export async function probeGrpc(
  { host, port, service }: Extract<ProbeMethod, { kind: "grpc" }>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const address = joinHostPort(host, port);
  try {
    const status = await checkHealth(address, { service, timeoutMs, userAgent: "istio-probe/1.0", signal });
    return status === "SERVING" ? { healthy: true } : { healthy: false, message: `grpc status ${status}` };
  } catch (thrown) {
    return { healthy: false, message: describe(thrown, port, timeoutMs) };
  }
}

function describe(thrown: unknown, port: number, timeoutMs: number): string {
  if (thrown instanceof HealthConnectError)
    return `failed to connect health check grpc service on port ${port}: ${thrown.message}`;
  const text = rpcErrorText(thrown);
  const code = thrown instanceof GrpcError ? thrown.code : undefined;
  if (code === "UNIMPLEMENTED")
    return `service on port ${port} doesn't implement the grpc health protocol grpc.health.v1.Health: ${text}`;
  if (code === "DEADLINE_EXCEEDED") return `health rpc probe timed out after ${formatDurationMs(timeoutMs)}: ${text}`;
  const name = /code = (\w+)/.exec(text)?.[1] ?? "Unknown";
  return `health rpc probe failed with status ${name}: ${text}`;
}
