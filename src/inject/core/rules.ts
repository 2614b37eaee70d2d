import type { Json } from "./json.ts";

/** What differs between product generations in injection. */
export interface InjectionRules {
  readonly name: "current" | "1.20" | "1.7";
  /** Values of an installation that sets nothing, where they are not today's. */
  readonly values: Json;
  readonly ignoredNamespaces: readonly string[];
  /** A pod with a proxy beside its containers is left as it is. */
  readonly skipsInjected: boolean;
  /** `exact`: true and false only; `any-case`: y, yes, true, on in any case are yes, all other text is no. */
  readonly injectWords: "exact" | "any-case";
  readonly readsInjectLabel: boolean;
  /** The command asks the decision procedure at all. */
  readonly commandDecides: boolean;
  readonly nullTimestamps: boolean;
  readonly rewritesLifecycleHooks: boolean;
  readonly rewritesTcpAndGrpcProbes: boolean;
  /** Resource and interface annotations are checked. */
  readonly checksResourceAnnotations: boolean;
  /** `detected`: by the versions of nodes, unless switch or annotation say otherwise; `switched`: by the switch alone. */
  readonly nativeSidecars: "detected" | "switched" | "none";
  /** `appended`: what is added comes after what is there, without templates and merging (compat/). */
  readonly pods: "merged" | "appended";
  /** What a person reads of workloads that are left out: a paragraph with kind and namespace, or a line with the name. */
  readonly skippedBy: "title" | "name";
  readonly webhook: WebhookShape;
  readonly sidecar: SidecarShape;
}

/** How the webhook configuration of a release differs from the others. */
export interface WebhookShape {
  /** One entry that selects namespaces by their label, with the labels and limits that releases of an operator wrote. */
  readonly hasOneEntry: boolean;
  readonly reviewVersions: readonly string[];
}

/** How the sidecar template of a release differs from the others that are built the same way. */
export interface SidecarShape {
  readonly jwtPolicyEnv: boolean;
  /** Divisor of the limits in the environment; absent prints as 0. */
  readonly limitDivisor: string | undefined;
  readonly goMaxProcs: boolean;
  readonly crlVolume: boolean;
  readonly otelEnv: boolean;
  readonly complianceEnv: boolean;
  readonly workloadNameLabel: boolean;
  readonly coreDumpContainer: boolean;
  /** Flags of istio-iptables and the proxy that only newer images know. */
  readonly newFlags: boolean;
  readonly drainHook: boolean;
  readonly truncatesCanonicalName: boolean;
  readonly kubernetesCaVolume: boolean;
  readonly tokenOnlyForThirdPartyJwt: boolean;
  /** Applications get their traffic on the loopback by the injector's PILOT_ENABLE_INBOUND_PASSTHROUGH, not by the mesh config. */
  readonly localhostByEnv: boolean;
  /** CNI settings are under `istio_cni` instead of `pilot.cni`. */
  readonly oldCniValues: boolean;
  readonly alwaysAnnotatesInboundPorts: boolean;
  /** The group stays the proxy's own also where it runs as root. */
  readonly keepsGroupAsRoot: boolean;
}

const CURRENT: InjectionRules = {
  name: "current",
  values: {},
  ignoredNamespaces: ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"],
  skipsInjected: false,
  injectWords: "exact",
  readsInjectLabel: true,
  commandDecides: true,
  nullTimestamps: false,
  rewritesLifecycleHooks: true,
  rewritesTcpAndGrpcProbes: true,
  checksResourceAnnotations: true,
  nativeSidecars: "detected",
  pods: "merged",
  skippedBy: "title",
  webhook: { hasOneEntry: false, reviewVersions: ["v1"] },
  sidecar: {
    jwtPolicyEnv: false,
    limitDivisor: "1",
    goMaxProcs: false,
    crlVolume: true,
    otelEnv: true,
    complianceEnv: true,
    workloadNameLabel: true,
    coreDumpContainer: false,
    newFlags: true,
    drainHook: true,
    truncatesCanonicalName: true,
    kubernetesCaVolume: false,
    tokenOnlyForThirdPartyJwt: false,
    localhostByEnv: false,
    oldCniValues: false,
    alwaysAnnotatesInboundPorts: true,
    keepsGroupAsRoot: false,
  },
};

const V1_20: InjectionRules = {
  ...CURRENT,
  name: "1.20",
  values: {
    global: { hub: "gcr.io/istio-testing", proxy: { tracer: "zipkin" } },
    istio_cni: { enabled: false, chained: true },
  },
  injectWords: "any-case",
  nullTimestamps: true,
  rewritesLifecycleHooks: false,
  checksResourceAnnotations: false,
  nativeSidecars: "switched",
  webhook: { hasOneEntry: false, reviewVersions: ["v1beta1", "v1"] },
  sidecar: {
    jwtPolicyEnv: true,
    limitDivisor: undefined,
    goMaxProcs: true,
    crlVolume: false,
    otelEnv: false,
    complianceEnv: false,
    workloadNameLabel: false,
    coreDumpContainer: true,
    newFlags: false,
    drainHook: false,
    truncatesCanonicalName: false,
    kubernetesCaVolume: true,
    tokenOnlyForThirdPartyJwt: true,
    localhostByEnv: true,
    oldCniValues: true,
    alwaysAnnotatesInboundPorts: false,
    keepsGroupAsRoot: true,
  },
};

const V1_7: InjectionRules = {
  ...V1_20,
  name: "1.7",
  values: {
    global: {
      hub: "docker.io/istio",
      tag: "1.7.0",
      proxy: {
        tracer: "zipkin",
        readinessInitialDelaySeconds: 1,
        readinessPeriodSeconds: 2,
        readinessFailureThreshold: 30,
      },
      proxy_init: {
        resources: { limits: { cpu: "2000m", memory: "1024Mi" }, requests: { cpu: "10m", memory: "10Mi" } },
      },
    },
    istio_cni: { enabled: false, chained: true },
  },
  skipsInjected: true,
  ignoredNamespaces: ["kube-system", "kube-public"],
  readsInjectLabel: false,
  commandDecides: false,
  rewritesTcpAndGrpcProbes: false,
  nativeSidecars: "none",
  pods: "appended",
  skippedBy: "name",
  webhook: { hasOneEntry: true, reviewVersions: ["v1beta1", "v1"] },
};

export const INJECTION_RULES = { current: CURRENT, "1.20": V1_20, "1.7": V1_7 } as const;
