import { MetricRegistry } from "../base/metric-registry.ts";
import { expandLabels, joinWorkload } from "../mesh-model/metric-labels.ts";
import { type EndedCall, hostOf, joinCall, LABEL_NAMES } from "./call-labels.ts";
import type { CallMetadata, CallStatus, GrpcLibrary, InterceptedCall, Pass } from "./grpc-library.ts";
import { type ProgramIdentity, readProgramIdentity, uriOf } from "./read-bootstrap.ts";

export interface GrpcMetricsOptions<Call, ServerCall> {
  /** The program's own `@grpc/grpc-js`. */
  readonly grpc: GrpcLibrary<Call, ServerCall>;
  /** Path of the bootstrap file that the agent writes: what GRPC_XDS_BOOTSTRAP says. */
  readonly bootstrapFile: string;
}

/** Counts what a sidecar would, in the program itself. */
export interface GrpcMetrics<Call, ServerCall> {
  /** For `interceptors` of a client of this target (`xds:///echo.demo.svc.cluster.local:7070`). */
  clientInterceptor(target: string): (options: unknown, nextCall: (options: never) => InterceptedCall) => Call;
  /** For `interceptors` of a server that is this service (`echo.demo.svc.cluster.local`). */
  serverInterceptor(service: string): (method: unknown, call: InterceptedCall) => ServerCall;
  /** The metrics in Prometheus' text format, to be served where the agent reads them. */
  render(): string;
}

const PEER_HEADER = "x-istio-peer";
/** Sets of labels of one program. What callers say of themselves must not take its memory: beyond this they are unknown. */
const MAX_LABEL_SETS = 1000;
/** Those of Envoy, so that the series of sidecars and programs add up. */
const DURATION_BUCKETS = [
  0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000,
  3_600_000,
];
const CANCELLED = 1;
const UNKNOWN_STATUS = 2;

/** Throws a `GrpcMetricsError` where the bootstrap cannot be read. */
export function createGrpcMetrics<Call, ServerCall>({
  grpc,
  bootstrapFile,
}: GrpcMetricsOptions<Call, ServerCall>): GrpcMetrics<Call, ServerCall> {
  const identity = readProgramIdentity(bootstrapFile);
  const self = joinWorkload(identity.workload);
  const { count, render } = createCounters(identity, self);

  return {
    render,
    clientInterceptor: (target) => {
      const host = hostOf(target, identity.dnsDomain);
      return (options, nextCall) => {
        const inner = nextCall(options as never);
        const tally = startTally();
        let headers: CallMetadata | undefined;
        const listener = {
          onReceiveMetadata(metadata: CallMetadata, pass: Pass<CallMetadata>) {
            headers = metadata;
            pass(metadata);
          },
          onReceiveMessage(message: unknown, pass: Pass<unknown>) {
            if (message !== null) tally.responses += 1;
            pass(message);
          },
          onReceiveStatus(status: CallStatus, pass: Pass<CallStatus>) {
            const { code, metadata } = status;
            // An answer without headers has its trailers for them; one that the library made up has neither.
            const isAnswered = headers !== undefined || Object.keys(metadata?.getMap() ?? {}).length > 0;
            count(tally, {
              reporter: "source",
              host,
              peer: peerIn(headers) || peerIn(metadata),
              peerPrincipal: principalOf(inner),
              isAnswered,
              isCancelled: false,
              status: code ?? UNKNOWN_STATUS,
            });
            pass(status);
          },
        };
        const requester = {
          start(metadata: CallMetadata, _: unknown, next: (metadata: CallMetadata, listener: unknown) => void) {
            next(withPeer(metadata.clone(), self), listener);
          },
          sendMessage(message: unknown, pass: Pass<unknown>) {
            tally.requests += 1;
            pass(message);
          },
        };
        return new grpc.InterceptingCall(inner as never, requester as never);
      };
    },
    serverInterceptor: (service) => {
      const host = hostOf(service, identity.dnsDomain);
      return (_method, inner) => {
        const tally = startTally();
        let [peer, hasSentHeaders, isOver] = ["", false, false];
        const end = (status: number, isCancelled: boolean) => {
          if (isOver) return;
          isOver = true;
          const peerPrincipal = principalOf(inner);
          const isAnswered = !isCancelled;
          count(tally, { reporter: "destination", host, peer, peerPrincipal, isAnswered, isCancelled, status });
        };
        const responder = {
          start(next: (listener: unknown) => void) {
            next({
              onReceiveMetadata(metadata: CallMetadata, pass: Pass<CallMetadata>) {
                peer = peerIn(metadata);
                pass(metadata);
              },
              onReceiveMessage(message: unknown, pass: Pass<unknown>) {
                tally.requests += 1;
                pass(message);
              },
              onCancel: () => end(CANCELLED, true),
            });
          },
          sendMetadata(metadata: CallMetadata, pass: Pass<CallMetadata>) {
            hasSentHeaders = true;
            pass(withPeer(metadata, self));
          },
          sendMessage(message: unknown, pass: Pass<unknown>) {
            tally.responses += 1;
            pass(message);
          },
          sendStatus(status: CallStatus, pass: Pass<CallStatus>) {
            end(status.code ?? 0, false);
            if (hasSentHeaders) return pass(status);
            pass({ ...status, metadata: withPeer(status.metadata?.clone() ?? new grpc.Metadata(), self) });
          },
        };
        return new grpc.ServerInterceptingCall(inner as never, responder as never);
      };
    },
  };
}

interface Tally {
  readonly startedAt: number;
  requests: number;
  responses: number;
}

const startTally = (): Tally => ({ startedAt: performance.now(), requests: 0, responses: 0 });

function createCounters(identity: ProgramIdentity, self: string) {
  const registry = new MetricRegistry();
  const labels = LABEL_NAMES;
  const total = registry.counter({ name: "istio_requests_total", help: "Calls that are over.", labels });
  const durations = registry.histogram({
    name: "istio_request_duration_milliseconds",
    help: "Time from the start of calls to their end.",
    labels,
    buckets: DURATION_BUCKETS,
  });
  const requests = registry.counter({
    name: "istio_request_messages_total",
    help: "Messages that clients sent in calls that are over.",
    labels,
  });
  const responses = registry.counter({
    name: "istio_response_messages_total",
    help: "Messages that servers sent in calls that are over.",
    labels,
  });
  const known = new Map<string, readonly string[]>();
  const valuesOf = (call: EndedCall): readonly string[] => {
    const own = { peer: self, principal: call.peerPrincipal === "" ? "" : identity.principal() };
    let joined = joinCall(call, own);
    if (known.size >= MAX_LABEL_SETS && !known.has(joined)) joined = joinCall({ ...call, peer: "" }, own);
    let values = known.get(joined);
    if (values === undefined) {
      const byName = expandLabels(joined);
      values = labels.map((name) => byName.get(name) ?? "");
      known.set(joined, values);
    }
    return values;
  };
  return {
    count(tally: Tally, call: EndedCall) {
      const values = valuesOf(call);
      total.inc(values);
      durations.observe(performance.now() - tally.startedAt, values);
      requests.inc(values, tally.requests);
      responses.inc(values, tally.responses);
    },
    render: () => registry.render(),
  };
}

function withPeer(metadata: CallMetadata, self: string): CallMetadata {
  metadata.set(PEER_HEADER, self);
  return metadata;
}

function peerIn(metadata: CallMetadata | null | undefined): string {
  const [first = ""] = metadata?.get(PEER_HEADER) ?? [];
  return typeof first === "string" ? first : "";
}

/** Of the other side's certificate. Versions of the library before 1.14 do not show it. */
function principalOf(call: InterceptedCall): string {
  return uriOf(call.getAuthContext?.()?.sslPeerCertificate?.subjectaltname);
}
