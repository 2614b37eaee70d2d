import { parseGoBool } from "../../base/parse-go-scalar.ts";
import type { MeshConfig } from "../../istio-api/mesh-config/mesh-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { asObject, type Json, textMap } from "./json.ts";
import type { WorkloadOwner } from "./owner.ts";
import type { InjectionRules } from "./rules.ts";
import type { Values } from "./values.ts";

/** What a template, built-in or of a user, makes its partial pod from. */
export interface TemplateContext {
  /** The pod without what an earlier injection added. */
  readonly pod: Json;
  readonly owner: WorkloadOwner;
  readonly proxyConfig: ProxyConfig;
  readonly mesh: MeshConfig;
  readonly values: Values;
  readonly revision: string;
  /** What the cluster's nodes allow; the pod's annotation may say otherwise. */
  readonly native: boolean;
  readonly proxyUid: number;
  readonly proxyGid: number;
  readonly compliancePolicy: string;
  /** The injector's environment, for templates that ask. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly rules: InjectionRules;
  readonly proxyConfigRules: ProxyConfigRules;
}

export type PodTemplate = (context: TemplateContext) => Json;

export const PROXY_CONTAINER = "istio-proxy";
export const INIT_CONTAINER = "istio-init";
export const VALIDATION_CONTAINER = "istio-validation";
export const CORE_DUMP_CONTAINER = "enable-core-dump";

export function annotationsOf(pod: Json): Readonly<Record<string, string>> {
  return textMap(asObject(pod.metadata).annotations);
}

export function labelsOf(pod: Json): Readonly<Record<string, string>> {
  return textMap(asObject(pod.metadata).labels);
}

/** An annotation if it is there, even empty; else the value from the settings. */
export function annotationOr(context: TemplateContext, name: string, path: string): string {
  return annotationsOf(context.pod)[name] ?? context.values.text(path);
}

export function interceptionMode({ pod, proxyConfig }: TemplateContext): string {
  return annotationsOf(pod)["sidecar.istio.io/interceptionMode"] ?? proxyConfig.interceptionMode ?? "REDIRECT";
}

/** Applications get captured traffic on the loopback, as before 1.10. */
export function isInboundLocalhost({ mesh, env, rules }: TemplateContext): boolean {
  if (rules.sidecar.localhostByEnv) return parseGoBool(env.PILOT_ENABLE_INBOUND_PASSTHROUGH ?? "") === false;
  return mesh.inboundTrafficPolicy?.mode === "LOCALHOST";
}

export function statusPortText(context: TemplateContext): string {
  return annotationOr(context, "status.sidecar.istio.io/port", "global.proxy.statusPort");
}
