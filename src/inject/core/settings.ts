import type { MeshConfig } from "../../istio-api/mesh-config/mesh-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import type { PodTemplate } from "./context.ts";
import type { InjectionPolicy } from "./decide.ts";
import type { InjectionRules } from "./rules.ts";
import type { Values } from "./values.ts";

/** Everything an injection needs beside the pod; made once, used for every pod. */
export interface InjectionSettings extends InjectionPolicy {
  readonly templates: ReadonlyMap<string, PodTemplate>;
  /** The text of each template, by name; built-in ones have none. */
  readonly templateTexts: ReadonlyMap<string, string>;
  readonly defaultTemplates: readonly string[];
  /** A name that stands for several templates; expanded once. */
  readonly aliases: Readonly<Record<string, readonly string[]>>;
  /** Written last, over anything. */
  readonly injectedAnnotations: Readonly<Record<string, string>>;
  readonly values: Values;
  readonly mesh: MeshConfig;
  readonly revision: string;
  /** What the nodes allow. */
  readonly native: boolean;
  readonly compliancePolicy: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly rules: InjectionRules;
  readonly proxyConfigRules: ProxyConfigRules;
}
