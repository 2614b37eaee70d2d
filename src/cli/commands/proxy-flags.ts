import type { ProxyFlags } from "../../settings/proxy-flags.ts";
import type { FlagSpec, FlagValues } from "../framework/flags.ts";

const OLD = "it belongs to an older release and has no effect here";

/** Flags of `proxy`. Those of older releases are accepted; where the chosen generation gives them no meaning they are ignored with a warning. */
export const PROXY_FLAGS: readonly FlagSpec[] = [
  {
    name: "domain",
    type: "string",
    default: "",
    usage: "DNS domain suffix. If not provided uses POD_NAMESPACE.svc.cluster.local",
  },
  {
    name: "meshConfig",
    type: "string",
    default: "./etc/istio/config/mesh",
    usage:
      "File name for Istio mesh configuration. If not specified, a default mesh will be used. This may be overridden by PROXY_CONFIG environment variable or proxy.istio.io/config annotation.",
  },
  {
    name: "stsPort",
    type: "int",
    default: 0,
    usage: "HTTP Port on which to serve Security Token Service (STS). If zero, STS service will not be provided.",
  },
  { name: "tokenManagerPlugin", type: "string", default: "", usage: "Token provider specific plugin name." },
  { name: "serviceCluster", type: "string", default: "istio-proxy", usage: "Service cluster" },
  {
    name: "proxyLogLevel",
    type: "string",
    default: "warning",
    values: ["trace", "debug", "info", "warning", "error", "critical", "off"],
    usage:
      "The log level used to start the Envoy proxy (choose from {trace, debug, info, warning, error, critical, off}). Level may also include one or more scopes, such as 'info,misc:error,upstream:debug'",
  },
  {
    name: "proxyComponentLogLevel",
    type: "string",
    default: "",
    usage: "The component log level used to start the Envoy proxy. Deprecated, use proxyLogLevel instead",
  },
  { name: "concurrency", type: "int", default: 0, usage: "number of worker threads to run" },
  { name: "templateFile", type: "string", default: "", usage: "Go template bootstrap config" },
  { name: "outlierLogPath", type: "string", default: "", usage: "The log path for outlier detection" },
  {
    name: "console",
    type: "string",
    default: "",
    usage:
      "Address of a console for this agent's own part, for example 127.0.0.1:15700; a port alone is one of this machine. If empty, there is none",
  },
  {
    name: "profiling",
    type: "bool",
    default: true,
    usage: "Enable profiling via web interface host:port/debug/pprof/.",
  },
  {
    name: "serviceregistry",
    type: "string",
    default: "Kubernetes",
    usage: "Select the platform for service registry, options are {Kubernetes, Consul, Mock}",
    hidden: true,
  },
  { name: "ip", type: "string", default: "", usage: "Proxy IP address", hidden: true },
  { name: "id", type: "string", default: "", usage: "Proxy unique ID", hidden: true },
  { name: "trust-domain", type: "string", default: "", usage: "The domain to use for identities", hidden: true },
  {
    name: "mixerIdentity",
    type: "string",
    default: "",
    usage: "The identity used as the suffix for mixer's spiffe SAN",
    hidden: true,
  },
  { name: "disableInternalTelemetry", type: "bool", default: false, usage: "Disable internal telemetry", hidden: true },
];

/** Flags that the reference does not have. The list of flags that an agent logs is the reference's: they are in it when they are given. */
const ADDED_FLAGS = ["console"];

/** Flags whose values an agent logs when it starts. */
export function loggedFlags(flags: FlagValues): FlagSpec[] {
  return PROXY_FLAGS.filter(
    ({ name, hidden }) => hidden !== true && (!ADDED_FLAGS.includes(name) || flags.changed(name)),
  );
}

/** All flags, with the defaults of a generation. */
export function proxyFlagsOf({ tokenManagerPlugin, proxyLogLevel, proxyComponentLogLevel }: ProxyFlags): FlagSpec[] {
  const defaults = new Map(Object.entries({ tokenManagerPlugin, proxyLogLevel, proxyComponentLogLevel }));
  return PROXY_FLAGS.map((spec) => {
    const value = defaults.get(spec.name);
    return value === undefined || spec.type !== "string" ? spec : { ...spec, default: value };
  });
}

/** Flags that only generations with registry flags know. */
const REGISTRY_FLAGS = ["serviceregistry", "ip", "id", "trust-domain", "mixerIdentity", "disableInternalTelemetry"];

const MIXER = "there is no Mixer; Envoy makes the telemetry itself, as the Telemetry API says";
const MIXER_FLAGS = ["mixerIdentity", "disableInternalTelemetry"];

/** One line for each flag that was given and has no effect. */
export function ignoredFlagWarnings(flags: FlagValues, hasRegistryFlags: boolean): string[] {
  const why = (name: string) => (MIXER_FLAGS.includes(name) ? MIXER : hasRegistryFlags ? undefined : OLD);
  return REGISTRY_FLAGS.filter((name) => flags.changed(name)).flatMap((name) => {
    const reason = why(name);
    return reason === undefined ? [] : [`Flag --${name} is ignored: ${reason}`];
  });
}

/** The typed form the configuration reads; `fallback` has the defaults of the chosen generation. */
export function toProxyFlags(flags: FlagValues, fallback: ProxyFlags): ProxyFlags {
  const text = (name: string, generationDefault: string) =>
    flags.changed(name) ? flags.string(name) : generationDefault;
  return {
    domain: flags.string("domain"),
    meshConfig: flags.string("meshConfig"),
    stsPort: flags.int("stsPort"),
    tokenManagerPlugin: text("tokenManagerPlugin", fallback.tokenManagerPlugin),
    serviceCluster: flags.string("serviceCluster"),
    proxyLogLevel: text("proxyLogLevel", fallback.proxyLogLevel),
    proxyComponentLogLevel: text("proxyComponentLogLevel", fallback.proxyComponentLogLevel),
    concurrency: flags.int("concurrency"),
    templateFile: flags.string("templateFile"),
    outlierLogPath: flags.string("outlierLogPath"),
    console: flags.string("console"),
    profiling: flags.bool("profiling"),
    logAsJson: flags.bool("log_as_json"),
    serviceregistry: flags.string("serviceregistry"),
    ip: flags.string("ip"),
    id: flags.string("id"),
    trustDomain: flags.string("trust-domain"),
    mixerIdentity: flags.string("mixerIdentity"),
    disableInternalTelemetry: flags.bool("disableInternalTelemetry"),
    changed: new Set(PROXY_FLAGS.map((spec) => spec.name).filter((name) => flags.changed(name))),
  };
}
