import type { FlagSpec } from "../framework/flags.ts";

const SECOND = 1_000_000_000n;

/** Accepted so that command lines of the reference keep working. */
const withoutEffect = (name: string, type: "string" | "bool" | "int", reason: string): FlagSpec => {
  const base = { name, usage: `Has no effect: ${reason}`, deprecated: reason };
  if (type === "bool") return { ...base, type, default: false };
  return type === "int" ? { ...base, type, default: 0 } : { ...base, type, default: "" };
};

export const DISCOVERY_FLAGS: readonly FlagSpec[] = [
  { name: "configDir", type: "string", default: "", usage: "Directory to watch for rule objects in yaml files" },
  {
    name: "console",
    type: "string",
    default: "",
    usage:
      "Address of the console, for example 127.0.0.1:15700; a port alone is one of this machine. If empty, there is none",
  },
  {
    name: "meshConfig",
    type: "string",
    default: "./etc/istio/config/mesh",
    usage: "File of the mesh configuration, watched; missing means defaults",
  },
  {
    name: "registries",
    type: "stringArray",
    default: [],
    usage: "Comma separated list of platform service registries to read from; services of rule objects are always read",
  },
  {
    name: "consulserverURL",
    type: "string",
    default: "",
    usage: "Address of Consul for --registries Consul; CONSUL_HTTP_ADDR or http://127.0.0.1:8500 when empty",
  },
  {
    name: "consulDatacenters",
    type: "stringArray",
    default: [],
    usage: "Comma separated datacenters of Consul to read; that of the agent when empty",
  },
  {
    name: "consulRulesPrefix",
    type: "string",
    default: "",
    usage: "Prefix of Consul keys whose values are rule objects, for example istio/config; none when empty",
  },
  {
    name: "grpcAddr",
    type: "string",
    default: ":15010",
    usage: "Plaintext xDS address; without host only for clients on this machine, empty for the HTTP port",
  },
  { name: "secureGRPCAddr", type: "string", default: ":15012", usage: "TLS xDS and CA address; empty for none" },
  {
    name: "httpAddr",
    type: "string",
    default: ":8080",
    usage: "Address of /ready, /debug and /config; empty for none",
  },
  {
    name: "monitoringAddr",
    type: "string",
    default: ":15014",
    usage: "Address of /metrics and /version; empty for none, they are on the HTTP port too",
  },
  {
    name: "httpsAddr",
    type: "string",
    default: ":15017",
    usage: "TLS address of webhooks; served with Kubernetes, or where this flag is given; empty for none",
  },
  { name: "domain", type: "string", default: "cluster.local", usage: "DNS domain suffix of services" },
  {
    name: "clusterID",
    type: "string",
    default: "Kubernetes",
    env: ["CLUSTER_ID"],
    usage: "The ID of the cluster that this server is in",
  },
  { name: "clusterAliases", type: "stringArray", default: [], usage: "Other names of clusters, as alias=id" },
  {
    name: "namespace",
    short: "n",
    type: "string",
    default: "istio-system",
    env: ["POD_NAMESPACE"],
    usage: "Namespace of the control plane: its identities may see everything",
  },
  {
    name: "caCertFile",
    type: "string",
    default: "",
    usage: "Roots for client certificates; together with --tlsCertFile and --tlsKeyFile",
  },
  { name: "tlsCertFile", type: "string", default: "", usage: "Serving certificate, instead of one of the own CA" },
  { name: "tlsKeyFile", type: "string", default: "", usage: "Key of the serving certificate" },
  { name: "tls-min-version", type: "string", default: "1.2", usage: "Least TLS version: 1.2 or 1.3" },
  {
    name: "tls-cipher-suites",
    type: "stringArray",
    default: [],
    usage: "Comma separated list of cipher suites for TLS 1.2, by their Go names; none for those of the TLS library",
  },
  { name: "keepaliveInterval", type: "duration", default: 30n * SECOND, usage: "Silence before a client is pinged" },
  { name: "keepaliveTimeout", type: "duration", default: 10n * SECOND, usage: "Time a client has to answer a ping" },
  {
    name: "keepaliveMaxServerConnectionAge",
    type: "duration",
    default: 0n,
    usage: "Streams are ended after this time, so that clients spread over servers; 0 for never",
  },
  {
    name: "shutdownDuration",
    type: "duration",
    default: 10n * SECOND,
    usage: "Time for requests under way when the server stops",
  },
  {
    name: "networksConfig",
    type: "string",
    default: "./etc/istio/config/meshNetworks",
    usage: "Networks of the mesh and the gateways between them, watched; a missing file means the cluster's, or none",
  },
  {
    name: "kubeconfig",
    type: "string",
    default: "",
    usage:
      "File that names the API server; implies --registries Kubernetes, and without it the pod's own cluster is read",
  },
  withoutEffect("kubernetesApiQPS", "string", "the API server says itself when a client asks too much"),
  withoutEffect("kubernetesApiBurst", "int", "the API server says itself when a client asks too much"),
  {
    name: "clusterRegistriesNamespace",
    type: "string",
    default: "",
    usage:
      "Namespace of the Secrets with kubeconfigs of other clusters (label istio/multiCluster=true); that of the control plane when empty",
  },
  withoutEffect("cniNamespace", "string", "the CNI plugin is not looked at"),
  withoutEffect("profile", "bool", "use node's inspector"),
  withoutEffect("ctrlz_port", "int", "there is no introspection page"),
  withoutEffect("ctrlz_address", "string", "there is no introspection page"),
];
