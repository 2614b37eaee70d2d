import type { Socket } from "node:net";
import { CloseStack } from "../base/close-stack.ts";
import { toHandle } from "../base/handle.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { untilAborted } from "../base/wait.ts";
import { type Authenticator, certificateService } from "../ca/index.ts";
import { declareKubernetesMetrics } from "../kubernetes/index.ts";
import { FORCED_CHANGES } from "../mesh-model/changes/push-changes.ts";
import type { AnswerOptions } from "../net/http-server/answer-exchange.ts";
import { createHttp2Answer } from "../net/http-server/exchanges.ts";
import { renderProcessMetrics, startEventLoopLag } from "../process/process-metrics.ts";
import type { PortOption } from "../settings/discovery-settings.ts";
import type { AdsService } from "./ads/create-ads-service.ts";
import { authorizeNodes, type ConnectedCa, connectCa } from "./connect-ca.ts";
import { connectCluster, connectMeshMaps, connectRemoteClusters } from "./connect-cluster.ts";
import { type ConnectedConfig, connectConfig } from "./connect-config.ts";
import { connectCredentials } from "./connect-credentials.ts";
import { connectPush } from "./connect-push.ts";
import { publishRemoteRoots, publishRoots } from "./connect-roots.ts";
import { type ConnectedStatus, connectStatus } from "./connect-status.ts";
import { connectXds, type GrpcPort, openXdsPorts } from "./connect-xds.ts";
import { type BasePagesOptions, createBasePages, pagesOf, servePages } from "./http/base-pages.ts";
import { type ConfigApiOptions, createConfigApi } from "./http/config-api.ts";
import type { DebugContext } from "./http/debug-context.ts";
import { createDebugHandler, createDebugPage, type DebugPagesOptions } from "./http/debug-pages.ts";
import { startKeyStore } from "./keys/key-store.ts";
import { createLocator } from "./locate-objects.ts";
import { meshFigures, resourceConflicts } from "./mesh-figures.ts";
import { type MeshFile, startMeshFile } from "./mesh-file.ts";
import { declareDiscoveryMetrics, VERSION_LINE } from "./metrics.ts";
import { connectNetworks } from "./networks/connect-networks.ts";
import { startMeshNetworks } from "./networks/start-mesh-networks.ts";
import type { Discovery, StartDiscoveryOptions } from "./options.ts";
import type { ConfigParser } from "./parse/config-parser.ts";
import { startParser } from "./parse/start-config-parser.ts";
import type { RemoteClusters } from "./remote-clusters/start-remote-clusters.ts";
import { whileControlled } from "./remote-clusters/while-controlled.ts";
import { readinessDetails } from "./source-freshness.ts";
import { connectWebhooks, type Webhooks } from "./webhooks/connect-webhooks.ts";

/** A start does not wait longer than this for keys that are somewhere else. */
const FIRST_KEYS_MS = 5000;

/**
 * Starts the control plane. The order is deliberate: HTTP first, so that `/ready` has an answer with a reason from the beginning; the xDS
 * ports last, so that an open port means that everything is known. The close stack makes the stop its mirror.
 */
export async function startDiscovery(options: StartDiscoveryOptions): Promise<Discovery> {
  const { ports, systemNamespace = "istio-system", domainSuffix = "cluster.local", auth = {} } = options;
  const log = options.log.scope("ads");
  const startedAt = performance.now();
  const registry = new MetricRegistry();
  const metrics = declareDiscoveryMetrics(registry, () => (performance.now() - startedAt) / 1000);
  let notReady = "starting";
  let authenticators: readonly Authenticator[] = [];
  let config: ConnectedConfig | undefined;
  let debug: DebugContext | undefined;
  let webhooks: Webhooks | undefined;

  await using opened = new CloseStack();
  const lag = opened.add(startEventLoopLag());
  const parser = options.parser ?? (await startParser());
  const stopParser = async () => parser.stop?.();
  opened.defer(stopParser);
  // A load in progress, which may take long, ends with it.
  options.signal?.addEventListener("abort", stopParser, { once: true });
  const pages = createPages({
    notReady: () => notReady,
    details: () => readinessDetails(config?.sources() ?? [], Date.now()),
    registry,
    processMetrics: () => renderProcessMetrics(lag),
    version: VERSION_LINE,
    debugOverHttp: options.debugOverHttp ?? true,
    context: () => debug,
    stores: () => config,
    parser,
    authenticators: () => authenticators,
    systemNamespace,
    limitsDebug: auth.limitsDebug ?? false,
    log,
  });
  const openHttp = async (port: PortOption | undefined, more: Parameters<typeof servePages>[2] = {}) =>
    port === undefined ? undefined : opened.add(await servePages(pages, port, more));
  // Until xDS can be served, who asks for it there is sent away and comes again.
  let onHttp2 = (socket: Socket): void => void socket.destroy();
  const http = await openHttp(ports.http, options.sharesHttpPort ? { onHttp2: (socket) => onHttp2(socket) } : {});
  const monitoring = await openHttp(ports.monitoring);

  const kubernetesMetrics = declareKubernetesMetrics(registry);
  const read = { ...options, ...(await connectCluster(options, kubernetesMetrics, opened)) };
  const maps = await connectMeshMaps(read, opened);
  const reading = { parser, log: options.log.scope("validation") };
  const mesh = opened.add(
    await startMeshFile({
      ...reading,
      path: options.meshConfigFile,
      domainSuffix,
      features: {
        quicListeners: options.quicListeners ?? false,
        persistentSessions: options.persistentSessions ?? false,
      },
      cluster: maps,
    }),
  );
  const networksFile = opened.add(
    await startMeshNetworks({ ...reading, path: options.networksConfigFile, cluster: maps?.networks }),
  );
  options.signal?.throwIfAborted();
  const remote = connectRemoteClusters(read, { mesh, networks: networksFile }, kubernetesMetrics, opened);
  const ca = await connectCa(read, () => mesh.settings, remote, opened);
  publishRoots(read, ca, opened);
  if (remote !== undefined) publishRemoteRoots(read, ca, remote);
  authenticators = ca.authenticators;
  metrics.ca.setExpirySource(() => ({
    root: ca.authority.material.roots[0]?.notAfter,
    chain: ca.authority.material.chainHead?.notAfter,
  }));
  options.signal?.throwIfAborted();
  const connected = await connectConfig(read, { mesh, networks: networksFile, parser, remote, opened });
  config = connected;
  const networks = connectNetworks({ file: networksFile, registry: connected.registry, log, opened });

  const keys = opened.add(startKeyStore({ ...options.tokenKeys, log: options.log.scope("security") }));
  keys.want(connected.store.snapshot.list("RequestAuthentication"));
  // Tokens that were good before a restart are good after it: the first answer to a proxy has the keys, if they can be had soon.
  await Promise.race([keys.tried(FIRST_KEYS_MS), ...(options.signal ? [untilAborted(options.signal)] : [])]);
  options.signal?.throwIfAborted();

  const xds: { service?: AdsService; status?: ConnectedStatus | undefined } = {};
  const pusher = connectPush(options, {
    config: connected,
    mesh,
    keys,
    networks,
    metrics,
    onPush: () => xds.status?.pushed(),
    connections: () => xds.service?.connections.all() ?? [],
    opened,
  });
  // Running agents learn of new trust anchors by push alone.
  if (options.ca?.allowsSeveralRoots)
    opened.defer(ca.authority.onChange(() => pusher.trigger("global", FORCED_CHANGES)));
  const credentials = connectCredentials(read, connected, remote, metrics, opened);
  const { service, source } = connectXds(options, {
    ca,
    snapshot: () => pusher.snapshot,
    isReady: () => notReady === "",
    debugPage: createDebugPage(() => debug),
    workloads: connected.workloads,
    credentials,
    onRefused: (...refusal) => xds.status?.refused(...refusal),
    metrics,
    log,
  });
  xds.service = service;
  if (connected.cluster !== undefined) {
    const snapshot = () => pusher.snapshot;
    xds.status = connectStatus(read, { rules: connected.cluster, credentials, snapshot, opened });
  }
  metrics.setMeshSource(() => meshFigures(pusher.snapshot, connected, service.connections.all(), source));
  metrics.setCacheSource(source.cache.counts);
  metrics.setSources(connected.sources);
  debug = {
    connections: service.connections,
    snapshot: () => pusher.snapshot,
    source,
    registry: connected.registry,
    store: connected.store,
    locate: createLocator({ ...connected, clusterId: options.clusterId ?? "Kubernetes" }),
    credentialProblems: credentials.problems,
    push: () => pusher.trigger("debug", FORCED_CHANGES),
    pushes: () => pusher.pushes,
    isPushing: () => pusher.isPending,
    conflicts: () => resourceConflicts(service.connections.all(), source),
    clusterId: options.clusterId ?? "Kubernetes",
    sources: connected.sources,
    unresolvedGateways: networks.unresolved,
    injectionTemplates: () => webhooks?.templates() ?? {},
    allowsAdmin: auth.allowsAdmin ?? false,
  };
  const impersonationProblem = await authorizeNodes(read, () => mesh.settings, opened);
  const certificates = certificateService({
    ...(impersonationProblem && { impersonationProblem }),
    authority: ca.authority,
    authenticators: ca.authenticators,
    metrics: metrics.ca,
    allowsPlaintext: auth.requiresPlaintextIdentity ?? false,
    log: options.log.scope("serverca"),
  });
  webhooks = await openWebhooks(read, {
    ca,
    mesh,
    parser,
    config: connected,
    remote,
    notReady: () => notReady,
    registry,
    opened,
  });
  // Ready before the ports are open: no accepted client is refused.
  notReady = "";
  const onOtherRequest = createHttp2Answer(pages);
  const { methods } = service;
  const open = await openXdsPorts(options, { methods, certificates, ca, onOtherRequest, log, opened });
  onHttp2 = open.shared?.accept ?? onHttp2;
  const servers = [open.grpc, open.secureGrpc].flatMap((port) => port?.servers ?? []);
  const owned = opened.move();
  return toHandle({
    addresses: {
      ...(http === undefined ? {} : { http: http.address }),
      ...(monitoring === undefined ? {} : { monitoring: monitoring.address }),
      ...addressOf("grpc", open.grpc),
      ...addressOf("secureGrpc", open.secureGrpc),
      ...(webhooks === undefined ? {} : { https: webhooks.address }),
    },
    store: connected.memory,
    connections: service.connections,
    get snapshot() {
      return pusher.snapshot;
    },
    get pushes() {
      return pusher.pushes;
    },
    get rootPem() {
      return ca.authority.material.rootPem;
    },
    async issueToken(account: { readonly namespace: string; readonly name: string }, seconds: number) {
      if (ca.issuer === undefined) throw new Error("tokens of a cluster are issued by its API server (TokenRequest)");
      return (await ca.issuer.issue(account, seconds)).reveal();
    },
    ended: Promise.race(
      [...servers, http, monitoring, webhooks].flatMap((server) => (server === undefined ? [] : [server.ended])),
    ),
    stop: async () => {
      notReady = "stopping";
      // First of all: a load in progress, which the file store would wait for, ends with it.
      await stopParser();
      const deadlineMs = options.shutdownMs ?? 10_000;
      // xDS streams never end by themselves: the server ends them, and clients go to another server or wait for this one.
      service.close("the server is stopping");
      await Promise.all([...servers, open.shared].map((server) => server?.drain(deadlineMs)));
      await owned.close();
    },
  });
}

interface WebhookOwner {
  readonly ca: ConnectedCa;
  readonly mesh: MeshFile;
  readonly parser: ConfigParser;
  readonly config: Pick<ConnectedConfig, "store">;
  readonly remote: RemoteClusters | undefined;
  readonly notReady: () => string;
  readonly registry: MetricRegistry;
  readonly opened: CloseStack;
}

/** Webhooks, where there is a port for them. */
async function openWebhooks(options: StartDiscoveryOptions, owner: WebhookOwner): Promise<Webhooks | undefined> {
  const { ports, webhooks, kubernetesSource, systemNamespace = "istio-system", revision = "", signal } = options;
  const { clusterId = "Kubernetes" } = options;
  const controlled = { clusterId, systemNamespace, log: options.log.scope("kube") };
  if (ports.https === undefined || webhooks === undefined) return undefined;
  const { ca, mesh, parser, config, remote, notReady, registry, opened } = owner;
  return connectWebhooks({
    settings: webhooks,
    listen: ports.https,
    tls: ca.tls,
    caBundle: ca.servingRoots,
    onCaChange: ca.onServingRoots,
    mesh,
    parser,
    reviewThread: options.reviewThread,
    proxyConfigs: () => config.store.snapshot.list("ProxyConfig"),
    source: kubernetesSource,
    clusterId,
    ...(remote && { remote, whileControlled: (start) => whileControlled({ ...controlled, remote, start }) }),
    systemNamespace,
    revision,
    notReady,
    graceMs: options.shutdownMs ?? 10_000,
    registry,
    log: options.log,
    signal,
    opened,
  });
}

function addressOf<Name extends "grpc" | "secureGrpc">(name: Name, port: GrpcPort | undefined) {
  const [first] = port?.servers ?? [];
  return first === undefined ? {} : { [name]: first.address };
}

interface RouteOptions extends BasePagesOptions, DebugPagesOptions, ConfigApiOptions {
  readonly debugOverHttp: boolean;
}

/** What the HTTP and the monitoring port answer; both have everything, as tools look on either. */
function createPages(options: RouteOptions): AnswerOptions {
  const table = createBasePages(options);
  if (options.debugOverHttp) {
    const debug = createDebugHandler(options);
    table.route("*", "/debug", debug);
    table.route("*", "/debug/", debug);
  }
  const config = createConfigApi(options);
  table.route("*", "/config", config);
  table.route("*", "/config/", config);
  return pagesOf(table, options.log);
}
