import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { checkHealth, GrpcError, HealthConnectError, rpcErrorText } from "../../grpc/index.ts";
import type { HttpAnswer, HttpHandler, HttpRequest } from "../../net/http-server/http-types.ts";
import type { AppProber } from "../core/app-probers.ts";
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
const TEXT = "text/plain; charset=utf-8";

/** Answers `/app-health/...` and `/app-lifecycle/...`: asks the application and passes on how it went. */
export function createAppProbeHandler(options: AppProbeOptions): HttpHandler {
  return async (request) => {
    const { path, closed } = request;
    const prober = options.probers.get(path);
    if (prober === undefined) {
      return { status: 400, contentType: TEXT, body: `app prober config does not exists for ${path}` };
    }
    // A kubelet that gives up takes its probe along, also one without a limit of its own.
    using limit = abortAfter(prober.timeoutMs > 0 ? Math.min(prober.timeoutMs, MAX_TIMER_MS) : MAX_TIMER_MS, closed);
    try {
      return await run(prober, { ...options, signal: limit.signal, path }, request);
    } catch (thrown) {
      if (closed.aborted) return undefined;
      const why = limit.expired ? `context deadline exceeded after ${prober.timeoutMs} ms` : errorMessage(thrown);
      options.log.error(`Request to probe app failed: ${why}, original URL path = ${path}`);
      return { status: 500, body: "" };
    }
  };
}

type Run = AppProbeOptions & { readonly signal: AbortSignal; readonly path: string };

async function run(prober: AppProber, options: Run, request: HttpRequest): Promise<HttpAnswer> {
  if (prober.kind === "tcp") {
    const socket = await connectTcp(options.target, prober.port, options.signal);
    socket.destroy();
    return { status: 200, body: "" };
  }
  if (prober.kind === "grpc") return { status: (await isServing(prober, options, request)) ? 200 : 500, body: "" };
  const {
    status,
    body,
    contentType = TEXT,
    contentEncoding,
  } = await probeHttp({
    ...options,
    prober,
    rawHeaders: request.rawHeaders,
  });
  if (status < 100) throw new Error(`Invalid status code: ${status}`);
  if (!options.relaysBody || body.length === 0) return { status, body: "" };
  const headers = contentEncoding === undefined ? {} : { "Content-Encoding": contentEncoding };
  return { status, contentType, headers, body };
}

async function isServing(prober: Extract<AppProber, { kind: "grpc" }>, options: Run, request: HttpRequest) {
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
