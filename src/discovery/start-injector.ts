import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { declareKubernetesMetrics } from "../kubernetes/index.ts";
import type { ListenAddress } from "../net/listen/listen.ts";
import { renderProcessMetrics, startEventLoopLag } from "../process/process-metrics.ts";
import type { InjectorSettings } from "../settings/discovery-settings.ts";
import { connectCa, connectServingFiles, type Serving } from "./connect-ca.ts";
import { connectCluster, connectMeshMaps } from "./connect-cluster.ts";
import { createBasePages, pagesOf, servePages } from "./http/base-pages.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";
import { startMeshFile } from "./mesh-file.ts";
import { VERSION_LINE } from "./metrics.ts";
import type { ConfigParser } from "./parse/config-parser.ts";
import { startParser } from "./parse/start-config-parser.ts";
import { createKubernetesStore } from "./stores/create-kubernetes-store.ts";
import { watchRules } from "./stores/watch-rules.ts";
import { connectWebhooks } from "./webhooks/connect-webhooks.ts";

export interface StartInjectorOptions extends InjectorSettings {
  /** Objects of a cluster, where they do not come from the API server of the settings. */
  readonly kubernetesSource?: KubernetesSource;
  /** Stopped with the webhooks. */
  readonly parser?: ConfigParser;
  /** As for the control plane. */
  readonly reviewThread?: URL | "none";
  readonly log: Logger;
  /** Aborted during the start: it rejects with the reason, and nothing stays open. */
  readonly signal?: AbortSignal;
}

/** Running webhooks. `stop` lets reviews under way end within the shutdown time. */
export interface Injector extends Handle {
  readonly addresses: { readonly https: ListenAddress; readonly monitoring?: ListenAddress };
}

/** The webhooks of the control plane without the rest of it; without a cluster from files and built-in settings. */
export async function startInjector(options: StartInjectorOptions): Promise<Injector> {
  const { ports, systemNamespace, revision, log, signal } = options;
  const registry = new MetricRegistry();
  let notReady = "starting";
  await using opened = new CloseStack();
  const lag = opened.add(startEventLoopLag());
  const processMetrics = () => renderProcessMetrics(lag);
  const pages = createBasePages({ notReady: () => notReady, registry, processMetrics, version: VERSION_LINE });
  // First, so that `/ready` has an answer with a reason from the beginning.
  const monitoring =
    ports.monitoring === undefined ? undefined : opened.add(await servePages(pagesOf(pages, log), ports.monitoring));
  const read = { ...options, ...(await connectCluster(options, declareKubernetesMetrics(registry), opened)) };
  const parser = options.parser ?? (await startParser());
  opened.defer(async () => parser.stop?.());
  const mesh = opened.add(
    await startMeshFile({
      parser,
      path: options.meshConfigFile,
      domainSuffix: options.domainSuffix,
      cluster: await connectMeshMaps(read, opened),
      log: log.scope("validation"),
    }),
  );
  signal?.throwIfAborted();
  const serving: Serving =
    options.servingFiles === undefined
      ? await connectCa({ ...read, ports: {} }, () => mesh.settings, undefined, opened)
      : await connectServingFiles(options.servingFiles);
  signal?.throwIfAborted();
  const source = read.kubernetesSource;
  const server = await connectWebhooks({
    settings: options.webhooks,
    listen: ports.https,
    tls: serving.tls,
    caBundle: serving.servingRoots,
    onCaChange: serving.onServingRoots,
    mesh,
    parser,
    proxyConfigs: source === undefined ? () => [] : watchProxyConfigs(source, { log, opened }),
    reviewThread: options.reviewThread,
    source,
    clusterId: options.clusterId ?? "Kubernetes",
    systemNamespace,
    revision,
    notReady: () => notReady,
    graceMs: options.shutdownMs,
    registry,
    log,
    signal,
    opened,
  });
  notReady = "";
  const owned = opened.move();
  return toHandle({
    addresses: { https: server.address, ...(monitoring && { monitoring: monitoring.address }) },
    ended: Promise.race([server, monitoring].flatMap((each) => (each === undefined ? [] : [each.ended]))),
    stop: async () => {
      notReady = "stopping";
      await owned.close();
    },
  });
}

interface RuleOwner {
  readonly log: Logger;
  readonly opened: CloseStack;
}

/** ProxyConfig objects of the cluster, as soon as it has the kind. */
function watchProxyConfigs(source: KubernetesSource, { log, opened }: RuleOwner) {
  const store = createKubernetesStore(() => true);
  const onChange = () => store.commit();
  const rules = watchRules({ source, store, kinds: ["ProxyConfig"], onChange, log: log.scope("kube") });
  opened.defer(() => rules.stop());
  return () => store.snapshot.list("ProxyConfig");
}
