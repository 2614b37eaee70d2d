import type { ProxyConfig } from "../../../istio-api/proxy-config/proxy-config.ts";
import { checkAnnotations } from "../annotation-checks.ts";
import { legacyInjectPod } from "../compat/legacy-inject-pod.ts";
import { annotationsOf } from "../context.ts";
import { type Decision, decideInjection } from "../decide.ts";
import { podProxyConfig } from "../documents/inject-document.ts";
import { asObject, asText, type Json } from "../json.ts";
import { createPatch, type PatchOperation } from "../json-patch.ts";
import { canBeNative } from "../native-sidecar.ts";
import { ownerOfPod } from "../owner.ts";
import { injectPod, type PodRequest } from "../pipeline/inject-pod.ts";
import { createNormalizer, type Normalizer } from "../schema/normalize.ts";
import type { InjectionSettings } from "../settings.ts";
import { keepSpelling } from "./keep-spelling.ts";
import { openshiftIds, withoutAssignedIds } from "./openshift.ts";

export interface PodMutation {
  /** The pod as it was sent. */
  readonly pod: Json;
  /** Of the request; counts where the pod has none. */
  readonly namespace: string;
  /** Variables of the webhook's path. */
  readonly proxyEnv: Readonly<Record<string, string>>;
  /** Annotations of the Namespace object, on OpenShift. */
  readonly openshift: Readonly<Record<string, string>> | undefined;
  /** What ProxyConfig objects say; nothing when absent. */
  readonly proxyConfig?: ProxyConfigOverlay;
  /** Whether nodes that the pod may land on allow a native sidecar; as the settings say when absent. */
  readonly native?: boolean;
}

/** Changes of a pod's ProxyConfig: `shared` under the pod's annotation, `own` over it. */
export interface ProxyConfigOverlay {
  shared(config: ProxyConfig): ProxyConfig;
  own(config: ProxyConfig): ProxyConfig;
}

export interface Mutation {
  readonly decision: Decision;
  readonly patch: readonly PatchOperation[];
}

const NO_OVERLAY: ProxyConfigOverlay = { shared: (config) => config, own: (config) => config };

/** What the webhook answers for a pod: the decision, and the operations that make the sent pod the injected one. */
export function mutatePod(request: PodMutation, given: InjectionSettings): Mutation {
  const { pod, namespace, proxyEnv, openshift, proxyConfig = NO_OVERLAY, native = given.native } = request;
  const settings = native === given.native ? given : { ...given, native: canBeNative(given.rules) && native };
  const { managedFields: _fields, ...metadata } = asObject(pod.metadata);
  const sent: Json = { metadata, spec: pod.spec };
  const effective = { ...metadata, namespace: asText(metadata.namespace) || namespace };
  const normalize = createNormalizer();
  const typed = normalize("PodTemplateSpec", { metadata: effective, spec: pod.spec });
  const decision = decideInjection(typed, effective.namespace, settings, settings.rules);
  if (!decision.inject) return { decision, patch: [] };
  const annotations = annotationsOf(typed);
  checkAnnotations(annotations, settings.rules, settings.proxyConfigRules);
  const { uid, gid } = openshiftIds(openshift ?? {});
  const injected = injectedBy(
    {
      pod: openshift === undefined ? typed : withoutAssignedIds(typed),
      owner: ownerOfPod(effective),
      proxyConfig: proxyConfig.own(
        podProxyConfig(proxyConfig.shared(settings.mesh.defaultConfig ?? {}), annotations, settings),
      ),
      statusPort: settings.mesh.defaultConfig?.statusPort ?? 0,
      proxyUid: uid,
      proxyGid: gid,
      proxyEnv,
    },
    settings,
    normalize,
  );
  const result = asObject(keepSpelling(sent, typed, injected));
  const withManaged = {
    ...pod,
    metadata: { ...asObject(pod.metadata), ...asObject(result.metadata) },
    spec: result.spec,
  };
  return { decision, patch: createPatch(pod, withManaged) };
}

function injectedBy(request: PodRequest, settings: InjectionSettings, normalize: Normalizer): Json {
  return settings.rules.pods === "appended"
    ? legacyInjectPod(request, settings, "webhook")
    : injectPod(request, settings, normalize);
}
