import { type AdmissionServer, type Reviewer, startAdmissionServer } from "../../admission/index.ts";
import { abortAfter } from "../../base/abort-after.ts";
import type { CloseStack } from "../../base/close-stack.ts";
import type { Logger } from "../../base/logger.ts";
import type { MetricRegistry } from "../../base/metric-registry.ts";
import { untilAborted } from "../../base/wait.ts";
import {
  declareInjectionMetrics,
  detectNativeSidecar,
  type PodSubject,
  recordReview,
  reviewPod,
} from "../../inject/index.ts";
import type { ConfigObject } from "../../istio-api/config-object.ts";
import { labelsOf } from "../../mesh-model/kubernetes-object.ts";
import type { ServerCredentials, ServerTls } from "../../net/listen/tls-acceptor.ts";
import type { PortOption, WebhookSettings } from "../../settings/discovery-settings.ts";
import type { KubernetesSource } from "../kubernetes-source.ts";
import type { MeshFile } from "../mesh-file.ts";
import type { ConfigParser } from "../parse/config-parser.ts";
import type { RemoteClusters } from "../remote-clusters/start-remote-clusters.ts";
import { type InjectionInput, NO_INPUT, watchInjectionFiles, watchInjectionMap } from "./injection-input.ts";
import { createLiveSettings, type LiveSettings } from "./live-settings.ts";
import { declareWebhookMetrics, type WebhookMetrics } from "./metrics.ts";
import { proxyConfigLayers } from "./proxy-config-objects.ts";
import { recordRule, reviewRule } from "./review-rule.ts";
import { type ReviewThread, startReviewThread } from "./start-review-thread.ts";
import { notReachedReason, startWebhookPatcher } from "./start-webhook-patcher.ts";
import { watchKubelets } from "./watch-kubelets.ts";

export interface WebhookParts {
  readonly settings: WebhookSettings;
  readonly listen: PortOption;
  readonly tls: ServerTls;
  /** PEM of the roots by which API servers know the certificate. */
  readonly caBundle: () => string;
  /** Calls after each change of the bundle. Returns what ends the subscription. */
  readonly onCaChange: (listener: () => void) => () => void;
  readonly mesh: MeshFile;
  readonly parser: Pick<ConfigParser, "parseYaml">;
  readonly proxyConfigs: () => readonly ConfigObject<"ProxyConfig">[];
  /** The program of the thread in which large objects are reviewed, `none` for the serving one. Absent: that of this program. */
  readonly reviewThread?: URL | "none" | undefined;
  /** Absent: injection from files or from what is built in, and no configuration is patched. */
  readonly source: KubernetesSource | undefined;
  /** The own one, as webhook configurations name it in their path. */
  readonly clusterId: string;
  /** Other clusters, whose API servers may ask too. */
  readonly remote?: Pick<RemoteClusters, "use">;
  /** Calls for each other cluster that is controlled from here, while it is: its configurations are patched too. */
  readonly whileControlled?: (start: (source: KubernetesSource, opened: CloseStack) => void) => void;
  readonly systemNamespace: string;
  readonly revision: string;
  readonly notReady: () => string;
  /** For reviews under way when the server stops. */
  readonly graceMs: number;
  readonly registry: MetricRegistry;
  readonly log: Logger;
  readonly signal: AbortSignal | undefined;
  readonly opened: CloseStack;
}

/** How long the port waits for the settings of injection: a pod that comes early would be refused. */
const FIRST_SETTINGS_MS = 10_000;
const INJECTOR_ENTRY = "sidecar-injector.istio.io";

export interface Webhooks extends Pick<AdmissionServer, "address" | "ended"> {
  /** Of injection by name, as texts; none where pods are not injected. */
  readonly templates: () => Readonly<Record<string, string>>;
}

/** Serves `/inject` and `/validate`, and keeps the webhook configurations of the cluster in step. */
export async function connectWebhooks(parts: WebhookParts): Promise<Webhooks> {
  const { settings, opened } = parts;
  const log = parts.log.scope("webhooks");
  const metrics = declareWebhookMetrics(parts.registry);
  const thread = await openReviewThread(parts);
  const inject = settings.injects ? await connectInjection(parts, thread) : undefined;
  const reviewers: Record<string, Reviewer> = {
    "/validate": createRuleReviewer(thread, metrics, parts.log.scope("validationServer")),
    ...(inject && { "/inject": inject.reviewer }),
  };
  const server = opened.add(
    await startAdmissionServer({
      listen: parts.listen,
      tls: withoutClients(parts.tls),
      reviewers,
      notReady: parts.notReady,
      limits: { graceMs: parts.graceMs },
      log,
    }),
  );
  if (parts.source !== undefined) patchConfigurations(parts, parts.source, opened, { metrics, log });
  parts.whileControlled?.((cluster, own) => patchConfigurations(parts, cluster, own, { metrics, log }));
  return { address: server.address, ended: server.ended, templates: inject?.templates ?? (() => ({})) };
}

interface ConnectedInjection extends Pick<Webhooks, "templates"> {
  readonly reviewer: Reviewer;
}

/** It costs nothing until the first large object comes. */
async function openReviewThread({ reviewThread, opened }: WebhookParts): Promise<ReviewThread | undefined> {
  if (reviewThread === "none") return undefined;
  const url = reviewThread ?? (await import("./review-thread-entry.ts")).REVIEW_THREAD_URL;
  const thread = startReviewThread(url);
  opened.defer(() => thread.stop());
  return thread;
}

function createRuleReviewer(thread: ReviewThread | undefined, metrics: WebhookMetrics, log: Logger): Reviewer {
  return {
    onHttpError: (status) => metrics.validationHttpErrors.inc([String(status)]),
    review: (request) => {
      const reviewed = reviewRule(request);
      recordRule(reviewed, metrics, log);
      return reviewed.verdict;
    },
    ...(thread && {
      answerLarge: async (body: Buffer) => {
        const { answer, reviewed } = await thread.rule(body);
        if (reviewed !== undefined) recordRule(reviewed, metrics, log);
        return answer;
      },
    }),
  };
}

async function connectInjection(parts: WebhookParts, thread: ReviewThread | undefined): Promise<ConnectedInjection> {
  const { settings, mesh, source, opened } = parts;
  const log = parts.log.scope("injector");
  let live: LiveSettings | undefined;
  const kubelets =
    source && settings.nativeSidecars === "auto"
      ? watchKubelets({ ...parts, source, remote: parts.remote, onChange: () => void live?.refresh() })
      : undefined;
  opened.defer(async () => kubelets?.stop());
  const namespaces = source && settings.isOpenshift ? watchNamespaces(source) : undefined;
  opened.defer(async () => namespaces?.stop());
  const input = await openInput(parts, () => void live?.refresh());
  opened.defer(() => input.stop());
  using limit = abortAfter(FIRST_SETTINGS_MS, parts.signal);
  const synced = Promise.all([input.synced, kubelets?.synced, namespaces?.synced]);
  await Promise.race([synced, untilAborted(limit.signal)]);
  parts.signal?.throwIfAborted();
  if (limit.expired) log.warn("the API server does not answer: pods are refused until the injection config is known");
  const created = await createLiveSettings({
    input,
    parser: parts.parser,
    rest: () => ({
      meshConfig: mesh.settings.source,
      revision: parts.revision === "default" ? "" : parts.revision,
      native: detectNativeSidecar(settings.nativeSidecars, kubelets?.versions()),
      compliancePolicy: settings.compliancePolicy,
      env: settings.environment,
      rules: settings.rules,
      proxyConfigRules: settings.proxyConfigRules,
    }),
    log,
  });
  live = created;
  mesh.subscribe(() => void created.refresh());
  // What changed while the first ones were read.
  await created.refresh();
  const record = { metrics: declareInjectionMetrics(parts.registry), log };
  const found = ({ namespace, cluster, node }: Pick<PodSubject, "namespace" | "cluster" | "node">) => ({
    namespaceAnnotations: namespaces?.annotations(namespace),
    native: kubelets && detectNativeSidecar(settings.nativeSidecars, kubelets.of(cluster, node)),
  });
  const reviewer: Reviewer = {
    review: (request, path) => {
      const reviewed = reviewPod(request, path, created.settings, (subject) => ({
        ...found(subject),
        proxyConfig: proxyConfigLayers(subject, parts.proxyConfigs(), {
          rootNamespace: mesh.settings.rootNamespace,
          rules: settings.proxyConfigRules,
        }),
      }));
      recordReview(reviewed, record);
      return reviewed.verdict;
    },
    ...(thread && {
      answerLarge: async (body: Buffer, path: string) => {
        const { answer, reviewed } = await thread.pod(body, path, {
          settings: created.sources,
          circumstances: (subject) => ({
            ...found(subject),
            proxyConfigs: parts.proxyConfigs(),
            rootNamespace: mesh.settings.rootNamespace,
          }),
        });
        if (reviewed !== undefined) recordReview(reviewed, record);
        return answer;
      },
    }),
  };
  return { reviewer, templates: () => shownTemplates(created) };
}

/** Templates that are built in are not text. */
function shownTemplates({ settings }: LiveSettings): Readonly<Record<string, string>> {
  const { templates, templateTexts } = settings();
  return Object.fromEntries([...templates.keys()].map((name) => [name, templateTexts.get(name) ?? "(built in)"]));
}

/** Files where they are named or in their usual place, else the cluster's ConfigMap. */
async function openInput(parts: WebhookParts, onChange: () => void): Promise<InjectionInput> {
  const { settings, source, systemNamespace: namespace, log } = parts;
  if (settings.injectionFiles !== undefined) return watchInjectionFiles({ ...settings.injectionFiles, log, onChange });
  if (source === undefined) return NO_INPUT;
  return watchInjectionMap({ source, namespace, name: injectionMapName(parts.revision), onChange });
}

function injectionMapName(revision: string): string {
  return revision === "" || revision === "default" ? "istio-sidecar-injector" : `istio-sidecar-injector-${revision}`;
}

/** Annotations of namespaces: OpenShift says there which users its containers get. */
function watchNamespaces(source: KubernetesSource) {
  const byName = new Map<string, Readonly<Record<string, string>>>();
  const watch = source.watch<Readonly<Record<string, string>>>({
    resource: { group: "", version: "v1", plural: "namespaces" },
    reduce: ({ metadata }) => labelsOf(metadata?.annotations),
    onChange: (name, annotations) => {
      if (annotations === undefined) byName.delete(name);
      else byName.set(name, annotations);
    },
  });
  return { annotations: (name: string) => byName.get(name) ?? {}, synced: watch.synced, stop: () => watch.stop() };
}

/** API servers may show a certificate, which is not of the mesh: it is not asked for. */
function withoutClients(tls: ServerTls): ServerTls {
  const changed = new WeakMap<ServerCredentials, ServerCredentials>();
  return async () => {
    const given = await tls();
    const { requestCert: _asked, rejectUnauthorized: _rejected, refuse: _refuse, ca: _ca, ...own } = given;
    const known = changed.get(given) ?? own;
    changed.set(given, known);
    return known;
  };
}

/** In one cluster, until the stack is closed. */
function patchConfigurations(
  parts: WebhookParts,
  source: KubernetesSource,
  opened: CloseStack,
  { metrics, log }: { readonly metrics: WebhookMetrics; readonly log: Logger },
): void {
  const { settings, systemNamespace: namespace } = parts;
  const { api } = source;
  if (api === undefined) return;
  const revision = parts.revision || "default";
  const common = { api, source, revision, caBundle: parts.caBundle, metrics, log };
  const patchers = [
    ...(settings.injects && settings.patchesInjection
      ? [startWebhookPatcher({ ...common, plural: "mutatingwebhookconfigurations", entrySuffix: INJECTOR_ENTRY })]
      : []),
    ...(settings.patchesValidation
      ? [
          startWebhookPatcher({
            ...common,
            plural: "validatingwebhookconfigurations",
            entrySuffix: "",
            notReady: () => notReachedReason(api, { namespace, revision }),
          }),
        ]
      : []),
  ];
  for (const patcher of patchers) opened.add(patcher);
  const unsubscribe = parts.onCaChange(() => {
    for (const patcher of patchers) patcher.refresh();
  });
  opened.defer(unsubscribe);
}
