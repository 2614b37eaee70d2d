import type { IncomingMessage, ServerResponse } from "node:http";
import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { checkHealth, GrpcError, HealthConnectError, rpcErrorText } from "../../grpc/index.ts";
import type { AppProber } from "../core/app-probers.ts";
import { type RouteHandler, sendBytes, sendText } from "../router.ts";
import { probeHttp } from "./http-probe.ts";
import type { ProbeConnections } from "./probe-connections.ts";
import { connectTcp, hostPort, type ProbeTarget } from "./probe-target.ts";

export interface AppProbeOptions {
  readonly probers: ReadonlyMap<string, AppProber>;
  readonly target: ProbeTarget;
  readonly statusPort: number;
  readonly http2: boolean;
  /** Given: connections to the application stay open between probes. The giver closes them. */
  readonly connections?: ProbeConnections;
  /** See `StatusRules`. */
  readonly relaysBody: boolean;
  readonly isLocal: boolean;
  readonly log: Logger;
}

/** Kubernetes' own default, for probes that must have a limit. */
const DEFAULT_GRPC_TIMEOUT_MS = 1000;
/** Answers `/app-health/...` and `/app-lifecycle/...`: asks the application and passes on how it went. */
export function createAppProbeHandler(options: AppProbeOptions): RouteHandler {
  return async (request, response, path) => {
    const prober = options.probers.get(path);
    if (prober === undefined) {
      response.setHeader("Content-Type", "text/plain; charset=utf-8");
      return sendText(response, 400, `app prober config does not exists for ${path}`);
    }
    const gone = new AbortController();
    // A kubelet that gives up takes its probe along, also one without a limit of its own.
    response.once("close", () => gone.abort());
    using limit = abortAfter(
      prober.timeoutMs > 0 ? Math.min(prober.timeoutMs, MAX_TIMER_MS) : MAX_TIMER_MS,
      gone.signal,
    );
    try {
      await run(prober, { ...options, signal: limit.signal, path }, request, response);
    } catch (thrown) {
      if (gone.signal.aborted) return;
      const why = limit.expired ? `context deadline exceeded after ${prober.timeoutMs} ms` : errorMessage(thrown);
      options.log.error(`Request to probe app failed: ${why}, original URL path = ${path}`);
      sendText(response, 500, "");
    }
  };
}

type Run = AppProbeOptions & { readonly signal: AbortSignal; readonly path: string };

async function run(prober: AppProber, options: Run, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (prober.kind === "tcp") {
    const socket = await connectTcp(options.target, prober.port, options.signal);
    socket.destroy();
    return sendText(response, 200, "");
  }
  if (prober.kind === "grpc") return sendText(response, (await isServing(prober, options, request)) ? 200 : 500, "");
  const result = await probeHttp({ ...options, prober, rawHeaders: request.rawHeaders });
  const body = options.relaysBody ? result.body : Buffer.alloc(0);
  if (body.length > 0) {
    response.setHeader("Content-Type", result.contentType ?? "text/plain; charset=utf-8");
    if (result.contentEncoding !== undefined) response.setHeader("Content-Encoding", result.contentEncoding);
  }
  sendBytes(response, result.status, body);
}

async function isServing(prober: Extract<AppProber, { kind: "grpc" }>, options: Run, request: IncomingMessage) {
  const { target, signal, log } = options;
  const userAgent = request.headers["user-agent"];
  try {
    const status = await checkHealth(hostPort(target.host, prober.port), {
      service: prober.service,
      timeoutMs: prober.timeoutMs > 0 ? prober.timeoutMs : DEFAULT_GRPC_TIMEOUT_MS,
      connect: (connecting) => connectTcp(target, prober.port, connecting),
      ...(userAgent !== undefined && { userAgent }),
      signal,
    });
    if (status !== "SERVING") log.error(`grpc probe failed: status ${status}, original URL path = ${options.path}`);
    return status === "SERVING";
  } catch (thrown) {
    log.error(`${grpcFailure(thrown)}, original URL path = ${options.path}`);
    return false;
  }
}

function grpcFailure(thrown: unknown): string {
  if (thrown instanceof HealthConnectError)
    return `Failed to create grpc connection to probe app: ${thrown.message}: ${errorMessage(thrown.cause)}`;
  const code = thrown instanceof GrpcError ? thrown.code : undefined;
  const what =
    code === "UNIMPLEMENTED"
      ? "server does not implement the grpc health protocol (grpc.health.v1.Health)"
      : code === "DEADLINE_EXCEEDED"
        ? "grpc request not finished within timeout"
        : "grpc probe failed";
  return `${what}: ${rpcErrorText(thrown)}`;
}
