import { availableParallelism } from "node:os";
import { buildStamp } from "../base/build-stamp.ts";
import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { bootstrapOfNode } from "../bootstrap/index.ts";
import {
  type CachingSource,
  createResourceSource,
  encodeResource,
  patchBootstrap,
  type ResourceProblem,
} from "../envoy-config/index.ts";
import {
  createGrpcAcceptor,
  type GrpcAcceptor,
  type GrpcAcceptorOptions,
  type GrpcServer,
  type GrpcServerOptions,
  type Implementation,
  startGrpcServer,
} from "../grpc/index.ts";
import { parseNode } from "../mesh-model/proxy/parse-node.ts";
import type { ProxyView, PushSnapshot } from "../mesh-model/push-snapshot.ts";
import { ListenError } from "../net/listen/listen-error.ts";
import type { PortOption } from "../settings/discovery-settings.ts";
import { decodeNode } from "../xds/node.ts";
import { createResourceSet } from "../xds/resource-set.ts";
import { createAdmission } from "./ads/admission.ts";
import type { AdsContext, DebugPage } from "./ads/ads-context.ts";
import { type AdsService, createAdsService } from "./ads/create-ads-service.ts";
import type { ConnectedCa } from "./connect-ca.ts";
import type { CredentialSource } from "./credentials/create-credential-source.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import type { WorkloadStreams } from "./workloads/start-workload-controller.ts";

interface XdsParts {
  readonly workloads: WorkloadStreams;
  readonly credentials: Pick<CredentialSource, "open">;
  readonly onRefused: AdsContext["onRefused"];
  readonly ca: ConnectedCa;
  readonly snapshot: () => PushSnapshot;
  readonly isReady: () => boolean;
  readonly debugPage: DebugPage;
  readonly metrics: DiscoveryMetrics;
  readonly log: Logger;
}

const PROBLEMS = {
  "left-out": "resource left out",
  "refused-rule": "rule cannot be followed",
  conflict: "listeners exclude each other",
  "not-there": "there is no such resource",
} as const;

/** The ADS service with everything it needs, not yet on any port. */
export function connectXds(
  options: StartDiscoveryOptions,
  parts: XdsParts,
): { readonly service: AdsService; readonly source: CachingSource } {
  const { metrics, log } = parts;
  const { auth = {}, limits = {} } = options;
  const perSecond = (limits.streamsPerSecond ?? 0) > 0 ? (limits.streamsPerSecond ?? 0) : automaticRate();
  const onProblem = ({ effect, conflict, type, resource, reason, object }: ResourceProblem) => {
    if (conflict === undefined && effect !== "not-there") metrics.rejectedConfigs.add(1, [type]);
    const of = object && { object: `${object.kind} ${object.namespace}/${object.name}` };
    log.warn(PROBLEMS[effect], { type, resource, reason, ...of });
  };
  const resources = createResourceSource({
    // With one root for good, agents know it from their own certificates.
    ...(options.ca?.allowsSeveralRoots && { trustBundle: () => [parts.ca.authority.material.rootPem] }),
    onProblem,
  });
  const source = withBootstraps(resources, onProblem);
  const service = createAdsService({
    source,
    snapshot: parts.snapshot,
    parseNode: (node) => parseNode(decodeNode(node), options.clusterAliases),
    admit: createAdmission({
      isReady: parts.isReady,
      // A bucket that never holds one whole stream would admit no client.
      rate: { perSecond, burst: Math.max(1, perSecond), maxWaitMs: 1000 },
      authenticators: parts.ca.authenticators,
      requiresIdentity: auth.requiresIdentity ?? true,
      requiresPlaintextIdentity: auth.requiresPlaintextIdentity ?? false,
      allowsRemotePlaintext: auth.allowsRemotePlaintext ?? false,
      log,
      now: () => performance.now(),
    }),
    debugPage: parts.debugPage,
    workloads: parts.workloads,
    credentials: parts.credentials,
    onRefused: parts.onRefused,
    identityLimits: {
      ...(limits.maxStreamsPerIdentity !== undefined && { maxStreams: limits.maxStreamsPerIdentity }),
      ...(limits.maxNamesPerIdentity !== undefined && { maxNames: limits.maxNamesPerIdentity }),
      ...(limits.maxNameBytesPerIdentity !== undefined && { maxNameBytes: limits.maxNameBytesPerIdentity }),
    },
    settings: {
      checksIdentity: auth.checksIdentity ?? true,
      systemNamespace: options.systemNamespace ?? "istio-system",
      controlPlane: JSON.stringify({ Component: "istiod", ID: options.podName ?? "", Info: buildStamp }),
      ...((limits.sendTimeoutMs ?? 0) > 0 && { sendTimeoutMs: limits.sendTimeoutMs ?? 0 }),
      ...(options.maxConnectionAgeMs === undefined ? {} : { maxAgeMs: options.maxConnectionAgeMs }),
    },
    metrics: metrics.ads,
    log,
  });
  return { service, source };
}

/**
 * The source, and what agents ask for before their Envoy starts: the bootstrap that the node would write itself, with the patches that
 * are for it. Nothing is held: an agent asks once.
 */
function withBootstraps(source: CachingSource, onProblem: (problem: ResourceProblem) => void): CachingSource {
  const bootstrapOf = (view: ProxyView) => {
    const { region, zone, subzone } = view.node.locality;
    const document = bootstrapOfNode({
      id: view.node.nodeId,
      cluster: view.node.serviceCluster,
      addresses: view.node.addresses,
      locality: { ...(region && { region }), ...(zone && { zone }), ...(subzone && { sub_zone: subzone }) },
      metadata: view.node.metadata,
    });
    const patched = patchBootstrap(document, view.outbound, (resource, reason) =>
      onProblem({ effect: "refused-rule", type: "BDS", resource, reason }),
    );
    return createResourceSet([encodeResource("envoy.config.bootstrap.v3.Bootstrap", "bootstrap", patched)]);
  };
  return {
    ...source,
    all: (view, type) => (type === "BDS" ? bootstrapOf(view) : source.all(view, type)),
    named: (view, type, names) => (type === "BDS" ? bootstrapOf(view) : source.named(view, type, names)),
  };
}

interface XdsPorts {
  readonly grpc?: GrpcPort;
  readonly secureGrpc?: GrpcPort;
  /** For connections to the HTTP port, where xDS shares it. */
  readonly shared?: GrpcAcceptor;
}

/** Plaintext ports carry xDS; the TLS port, if there is one, also the certificate authority. */
export async function openXdsPorts(
  options: StartDiscoveryOptions,
  parts: {
    readonly methods: readonly Implementation[];
    readonly certificates: Implementation;
    readonly ca: ConnectedCa;
    readonly onOtherRequest: NonNullable<GrpcAcceptorOptions["onOtherRequest"]>;
    readonly log: Logger;
    readonly opened: CloseStack;
  },
): Promise<XdsPorts> {
  const { ports, limits = {}, keepalive } = options;
  const common = {
    log: parts.log,
    maxConcurrentStreams: limits.maxConcurrentStreams ?? 100_000,
    // Nothing, or less, would refuse every request there is.
    maxReceiveBytes: Math.max(0, limits.maxReceiveBytes ?? 0) || 4 * 1024 * 1024,
    ...(keepalive === undefined
      ? {}
      : { keepalive, pingPolicy: { minIntervalMs: keepalive.intervalMs / 2, withoutCalls: true } }),
  };
  const { methods, certificates, ca, onOtherRequest, opened } = parts;
  const secureGrpc =
    ports.secureGrpc === undefined
      ? undefined
      : await listenGrpc(ports.secureGrpc, { ...common, methods: [...methods, certificates], tls: ca.tls }, opened);
  // Who has no TLS port to ask for a certificate may ask here, where tokens are taken over plaintext.
  const plaintext = ports.secureGrpc === undefined ? [...methods, certificates] : methods;
  const grpc =
    ports.grpc === undefined ? undefined : await listenGrpc(ports.grpc, { ...common, methods: plaintext }, opened);
  const shared = options.sharesHttpPort
    ? createGrpcAcceptor({ ...common, methods: plaintext, onOtherRequest })
    : undefined;
  if (shared !== undefined) opened.defer(() => shared.stop());
  return {
    ...(grpc === undefined ? {} : { grpc }),
    ...(secureGrpc === undefined ? {} : { secureGrpc }),
    ...(shared === undefined ? {} : { shared }),
  };
}

/**
 * Streams a second. Starting one costs a few milliseconds, as resources are shared; a whole mesh that comes back at once is served
 * within seconds, and who has to wait longer than one is sent away to try again.
 */
function automaticRate(): number {
  return Math.min(100 + 100 * availableParallelism(), 1000);
}

export interface GrpcPort {
  readonly servers: readonly GrpcServer[];
}

/**
 * Serves one port. Without a host: on the loopback addresses of both families for plaintext, on every address for TLS. A machine without
 * IPv6 is served on IPv4 alone.
 */
async function listenGrpc(
  { host, port }: PortOption,
  options: Omit<GrpcServerOptions, "listen">,
  opened: CloseStack,
): Promise<GrpcPort> {
  const start = async (at: string, on: number) =>
    opened.add(await startGrpcServer({ ...options, listen: { host: at, port: on } }));
  if (host !== "") return { servers: [await start(host, port)] };
  if (options.tls !== undefined) {
    const all = await start("::", port).catch((thrown: unknown) => ipv4Instead(thrown, () => start("0.0.0.0", port)));
    return { servers: [all] };
  }
  const first = await start("127.0.0.1", port);
  const bound = "port" in first.address ? first.address.port : port;
  // A taken port matters only when it was asked for; a free one for IPv4 may be taken for IPv6.
  const second = await start("::1", bound).catch((thrown: unknown) => {
    if (port !== 0 && thrown instanceof ListenError && thrown.code === "address-in-use") throw thrown;
    return undefined;
  });
  return { servers: second === undefined ? [first] : [first, second] };
}

function ipv4Instead(thrown: unknown, start: () => Promise<GrpcServer>): Promise<GrpcServer> {
  if (thrown instanceof ListenError && thrown.code !== "address-in-use") return start();
  throw thrown;
}
