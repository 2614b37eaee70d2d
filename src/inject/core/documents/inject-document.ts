import { parseGoYaml } from "../../../files/yaml/parse-go-yaml.ts";
import { applyProxyConfig } from "../../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../../istio-api/proxy-config/proxy-config.ts";
import { InjectError } from "../../inject-error.ts";
import { checkAnnotations, PROXY_CONFIG_ANNOTATION } from "../annotation-checks.ts";
import { legacyInjectPod } from "../compat/legacy-inject-pod.ts";
import { annotationsOf } from "../context.ts";
import { type Decision, decideInjection } from "../decide.ts";
import { asObject, asText, type Json } from "../json.ts";
import { ownerOfPod, type WorkloadOwner } from "../owner.ts";
import { injectPod, PROXY_ID } from "../pipeline/inject-pod.ts";
import { readStatus } from "../pipeline/injection-status.ts";
import { normalize } from "../schema/normalize.ts";
import type { InjectionSettings } from "../settings.ts";
import { cronJobMetadata } from "./cron-job.ts";
import { withRestoreRecord } from "./uninject-document.ts";
import { readPodTemplate, workloadPlace, writePodTemplate } from "./workload-kinds.ts";

/** How an object is handled beside the settings. */
export interface DocumentOptions {
  /**
   * To the letter as the reference does: objects that are skipped are printed again, unknown members are lost, a CronJob's metadata goes
   * to its job template only, and the namespace of a workload has no say in the decision.
   */
  readonly strict: boolean;
}

export interface InjectedDocument {
  readonly document: Json;
  readonly decision: Decision;
  /** For people: `Deployment "ns/name"`. */
  readonly title: string;
  readonly name: string;
}

/** A pod that somebody else may inject: a webhook that runs. */
export interface PodRequest {
  readonly pod: Json;
  readonly owner: WorkloadOwner;
  readonly namespace: string;
  /** The pod is the object itself, not a template of one. */
  readonly isWhole: boolean;
  readonly title: string;
}

/** The pod as somebody else injected it, and who; undefined where it is to be done here. */
export type PodAnswer = { readonly pod: Json; readonly by: string } | undefined;

/** One object with the proxy in its pods; undefined for what is not a workload. No webhook is asked. */
export function injectDocument(
  document: unknown,
  settings: InjectionSettings,
  options: DocumentOptions,
): InjectedDocument | undefined {
  const steps = documentSteps(document, settings, options);
  let step = steps.next();
  while (step.done !== true) step = steps.next(undefined);
  return step.value;
}

/** The same, with a question for each pod whose network does not rule injection out; the answers go into `next`. */
export function* documentSteps(
  document: unknown,
  settings: InjectionSettings,
  options: DocumentOptions,
): Generator<PodRequest, InjectedDocument | undefined, PodAnswer> {
  const place = workloadPlace(document);
  if (place === undefined) return undefined;
  const given = document as Json;
  const printed = normalize(asText(given.kind), given, {
    dropsUnknown: options.strict,
    nullTimestamps: settings.rules.nullTimestamps,
  });
  const template = readPodTemplate(printed, place);
  const title = titleOf(printed, template);
  if (template === undefined) {
    throw new InjectError("missing-template", "spec.template is required value");
  }
  const metadata = asObject(printed.metadata);
  const owner: WorkloadOwner =
    place === "self"
      ? ownerOfPod(metadata)
      : {
          name: asText(metadata.name),
          namespace: asText(metadata.namespace),
          kind: asText(printed.kind),
          apiVersion: asText(printed.apiVersion),
        };
  const namespace = asText(asObject(template.metadata).namespace) || (options.strict ? "" : owner.namespace);
  const own = decideForCommand(template, namespace, settings);
  const cronJob = place === "job-template" && !options.strict ? cronJobMetadata(printed, template) : undefined;
  const pod = cronJob?.pod ?? template;
  const asked = { pod, owner, namespace: namespace || owner.namespace, isWhole: place === "self", title };
  const answer = own.by === "host-network" ? undefined : yield asked;
  const decision: Decision =
    answer === undefined ? own : { inject: true, by: "policy", reason: `${answer.by} injects it`, warnings: [] };
  const { name } = owner;
  if (!decision.inject) return { document: printed, decision, title, name };
  const injected = answer?.pod ?? injectTemplate(pod, owner, settings);
  const result = cronJob?.write(injected) ?? writePodTemplate(printed, place, injected);
  const { nullTimestamps } = settings.rules;
  const form = { dropsUnknown: options.strict, nullTimestamps };
  const complete = normalize(asText(given.kind), result, form);
  const isFirst = readStatus(template) === undefined && readStatus(pod) === undefined;
  const recorded = options.strict || !isFirst ? complete : withRestoreRecord(complete, printed);
  return { document: recorded, decision, title, name };
}

/** For people. */
export function titleOf({ kind, metadata }: Json, template?: Json): string {
  const { namespace } = asObject(metadata);
  const name = asText(asObject(template?.metadata).name) || asText(asObject(metadata).name);
  return `${asText(kind)} "${namespace === undefined ? name : `${asText(namespace)}/${name}`}"`;
}

/** The command injects unless the object says no: neither policy nor selectors of a cluster apply. */
function decideForCommand(template: Json, namespace: string, { rules, ...settings }: InjectionSettings): Decision {
  const policy = {
    policy: settings.policy,
    neverInjectSelector: settings.neverInjectSelector,
    alwaysInjectSelector: settings.alwaysInjectSelector,
  };
  const decision = decideInjection(template, namespace, policy, rules);
  if (rules.commandDecides || decision.by === "host-network" || decision.by === "already-injected") return decision;
  return { inject: true, by: "policy", reason: `the command of ${rules.name} injects all workloads`, warnings: [] };
}

function injectTemplate(pod: Json, owner: WorkloadOwner, settings: InjectionSettings): Json {
  const annotations = annotationsOf(pod);
  checkAnnotations(annotations, settings.rules, settings.proxyConfigRules);
  const proxyConfig = podProxyConfig(settings.mesh.defaultConfig ?? {}, annotations, settings);
  const request = {
    pod,
    owner,
    proxyConfig,
    statusPort: proxyConfig.statusPort ?? 0,
    proxyUid: PROXY_ID,
    proxyGid: PROXY_ID,
    proxyEnv: {},
  };
  return settings.rules.pods === "appended"
    ? legacyInjectPod(request, settings, "command")
    : injectPod(request, settings);
}

/** The mesh's ProxyConfig with the pod's own over it. */
export function podProxyConfig(
  base: ProxyConfig,
  annotations: Readonly<Record<string, string>>,
  { proxyConfigRules }: InjectionSettings,
): ProxyConfig {
  const text = annotations[PROXY_CONFIG_ANNOTATION];
  if (text === undefined) return base;
  return applyProxyConfig(base, parseGoYaml(text), proxyConfigRules).config;
}
