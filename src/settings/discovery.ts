import { formatDuration } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import type { AuthorityOptions, JwtRule } from "../ca/index.ts";
import { parseJwtRule } from "./ca.ts";
import { readCipherSuites } from "./cipher-suites.ts";
import { readCertificateSource } from "./discovery-certificate.ts";
import { readConsulSettings } from "./discovery-consul.ts";
import type { ClusterIdentitySettings, DiscoveryPorts, DiscoverySettings, PortOption } from "./discovery-settings.ts";
import { createEnvReader, type Environment, type EnvReader } from "./env-reader.ts";
import type { FlagValues } from "./flag-values.ts";
import { readWebhookSettings } from "./webhooks.ts";

/** The options of the control plane from flags and environment. Throws with what is wrong and what is allowed. */
export function readDiscoverySettings(flags: FlagValues, environment: Environment, log: Logger): DiscoverySettings {
  const env = createEnvReader(environment, "master", () => undefined); // warned about at the start of every command
  const registries = readRegistries(flags, log);
  const consul = registries.has("Consul") ? readConsulSettings(flags, environment) : undefined;
  const configDir = flags.string("configDir");
  const kubeconfig = flags.string("kubeconfig");
  const jwtRule = env.string("JWT_RULE");
  const certificate = readCertificateSource(flags, env.string("PILOT_CERT_PROVIDER"), log);
  const maxAgeMs = readMaxAge(flags);
  // Who names a kubeconfig means the cluster.
  const hasCluster = registries.has("Kubernetes") || kubeconfig !== "";
  const tlsCiphers = readCipherSuites(flags.stringArray("tls-cipher-suites").flatMap(listOf));
  return {
    ports: readPorts(flags, certificate !== "none", hasCluster || flags.changed("httpsAddr")),
    ...(flags.string("grpcAddr") === "" ? { sharesHttpPort: true } : {}),
    ...(configDir === "" ? {} : { configDir }),
    ...(consul === undefined ? {} : { consul }),
    ...(hasCluster
      ? {
          kubernetes: {
            kubeconfig,
            environment,
            writesStatus: env.bool("PILOT_ENABLE_STATUS"),
            identity: { ...readClusterIdentity(env), nodeAccounts: readNodeAccounts(env, log) },
            remote: {
              secretNamespace: flags.string("clusterRegistriesNamespace") || flags.string("namespace"),
              timeoutMs: env.durationMs("PILOT_REMOTE_CLUSTER_TIMEOUT"),
              staleMs: env.durationMs("PILOT_REMOTE_CLUSTER_STALE_PERIOD"),
              allowedOptions: listOf(env.string("PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS")),
            },
          },
        }
      : {}),
    webhooks: readWebhookSettings(environment, log),
    quicListeners: env.bool("PILOT_ENABLE_QUIC_LISTENERS"),
    persistentSessions: env.bool("PILOT_ENABLE_PERSISTENT_SESSION_FILTER"),
    sharedMeshConfig: env.string("SHARED_MESH_CONFIG"),
    meshConfigFile: flags.string("meshConfig"),
    networksConfigFile: flags.string("networksConfig"),
    domainSuffix: flags.string("domain"),
    clusterId: flags.string("clusterID"),
    clusterAliases: readAliases(flags.stringArray("clusterAliases")),
    systemNamespace: flags.string("namespace"),
    revision: env.string("REVISION"),
    podName: env.string("POD_NAME"),
    caDirectory: env.string("ROOT_CA_DIR"),
    ca: {
      ttl: { defaultMs: env.durationMs("DEFAULT_WORKLOAD_CERT_TTL"), maxMs: env.durationMs("MAX_WORKLOAD_CERT_TTL") },
      allowsSeveralRoots: env.bool("ISTIO_MULTIROOT_MESH"),
      selfSigned: readSelfSigned(env),
    },
    hosts: listOf(env.string("ISTIOD_CUSTOM_HOST")),
    ...(typeof certificate === "string" ? {} : { servingFiles: certificate }),
    tlsMinVersion: readTlsVersion(flags.string("tls-min-version")),
    ...(tlsCiphers === undefined ? {} : { tlsCiphers }),
    trustedGateways: listOf(env.string("TRUSTED_GATEWAY_CIDR")),
    jwtRules: [...(jwtRule === "" ? [] : [parseJwtRule(jwtRule)]), ...readOutsideIssuer(env, environment)],
    push: {
      debounceAfterMs: env.durationMs("PILOT_DEBOUNCE_AFTER"),
      debounceMaxMs: env.durationMs("PILOT_DEBOUNCE_MAX"),
      debouncesEndpoints: env.bool("PILOT_ENABLE_EDS_DEBOUNCE"),
      concurrency: env.int("PILOT_PUSH_THROTTLE"),
    },
    auth: {
      requiresIdentity: env.bool("XDS_AUTH"),
      requiresPlaintextIdentity: env.bool("XDS_AUTH_PLAINTEXT"),
      checksIdentity: env.bool("PILOT_ENABLE_XDS_IDENTITY_CHECK"),
      allowsRemotePlaintext: env.bool("PILOT_ALLOW_REMOTE_PLAINTEXT"),
      limitsDebug: env.bool("ENABLE_DEBUG_ENDPOINT_AUTH"),
      allowsAdmin: env.bool("UNSAFE_ENABLE_ADMIN_ENDPOINTS"),
    },
    limits: {
      streamsPerSecond: env.float("PILOT_MAX_REQUESTS_PER_SECOND"),
      maxConcurrentStreams: env.int("ISTIO_GPRC_MAXSTREAMS"),
      maxReceiveBytes: env.int("ISTIO_GPRC_MAXRECVMSGSIZE"),
      // Only 1.20 has it; whoever sets it means it.
      sendTimeoutMs: createEnvReader(environment, "1.20", () => undefined).durationMs("PILOT_XDS_SEND_TIMEOUT"),
      maxStreamsPerIdentity: env.int("PILOT_MAX_STREAMS_PER_IDENTITY"),
      maxNamesPerIdentity: env.int("PILOT_MAX_NAMES_PER_IDENTITY"),
      maxNameBytesPerIdentity: env.int("PILOT_MAX_NAME_BYTES_PER_IDENTITY"),
    },
    workloadEntries: {
      registers: env.bool("PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION"),
      takesHealth: env.bool("PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS"),
      validatesIdentity: env.bool("PILOT_WORKLOAD_ENTRY_VALIDATE_IDENTITY"),
      graceMs: env.durationMs("PILOT_WORKLOAD_ENTRY_GRACE_PERIOD"),
    },
    keepalive: {
      intervalMs: milliseconds(flags.duration("keepaliveInterval")),
      timeoutMs: milliseconds(flags.duration("keepaliveTimeout")),
    },
    ...(maxAgeMs === 0 ? {} : { maxConnectionAgeMs: maxAgeMs }),
    shutdownMs: milliseconds(flags.duration("shutdownDuration")),
    debugOverHttp: env.bool("ENABLE_DEBUG_ON_HTTP"),
  };
}

/** "host:port", "[address]:port" or ":port"; undefined for the empty text. */
export function parsePort(flag: string, text: string): PortOption | undefined {
  if (text === "") return undefined;
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  if (port !== undefined && Number(port) <= 65_535) return { host: bracketed ?? plain ?? "", port: Number(port) };
  throw new Error(`--${flag} is ${JSON.stringify(text)}, expected HOST:PORT, [ADDRESS]:PORT, :PORT or nothing`);
}

function readPorts(flags: FlagValues, hasCertificate: boolean, hasWebhooks: boolean): DiscoveryPorts {
  const names = {
    http: "httpAddr",
    grpc: "grpcAddr",
    ...(hasCertificate && { secureGrpc: "secureGRPCAddr" }),
    ...(hasCertificate && hasWebhooks && { https: "httpsAddr" }),
    monitoring: "monitoringAddr",
  };
  const ports = Object.entries(names).map(([port, flag]) => [port, parsePort(flag, flags.string(flag))]);
  return Object.fromEntries(ports.filter(([, option]) => option !== undefined));
}

/** Two ids for one alias would make a proxy's cluster a matter of luck. */
function readAliases(values: readonly string[]): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const value of values.flatMap(listOf)) {
    const [, alias, id] = /^([^=]+)=(.+)$/.exec(value) ?? [];
    if (alias === undefined || id === undefined) {
      throw new Error(`--clusterAliases has ${JSON.stringify(value)}, expected alias=id`);
    }
    if ([...aliases.values()].includes(id)) throw new Error(`More than one cluster alias for cluster id: ${id}`);
    aliases.set(alias, id);
  }
  return aliases;
}

export function readClusterIdentity(env: EnvReader): ClusterIdentitySettings {
  const own = "istio-ca-secret";
  return {
    caSecrets: env.bool("USE_CACERTS_FOR_SELF_SIGNED_CA") ? [own, "cacerts"] : [own],
    copiesCa: env.bool("USE_REMOTE_CERTS"),
    tokenAudiences: listOf(env.string("TOKEN_AUDIENCES")),
    rootConfigMap: env.string("PILOT_CA_CERT_CONFIGMAP"),
  };
}

/** Outside of a cluster: whose tokens are believed, by the keys that the issuer publishes. */
function readOutsideIssuer(env: EnvReader, { KUBERNETES_SERVICE_HOST = "" }: Environment): readonly JwtRule[] {
  const issuer = env.string("TOKEN_ISSUER");
  if (issuer === "" || KUBERNETES_SERVICE_HOST !== "") return [];
  return [{ issuer, audiences: listOf(env.string("AUDIENCE") || env.string("TOKEN_AUDIENCES")) }];
}

/** How a root is made and renewed where no CA is plugged in. */
export function readSelfSigned(env: EnvReader): NonNullable<AuthorityOptions["selfSigned"]> {
  const bits = env.int("CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE");
  return {
    // As `pilot-agent ca` makes it: a new RSA key would take half a second of the first start.
    key: bits > 0 ? { type: "rsa", bits } : { type: "ecdsa", curve: "P256" },
    lifetimeMs: env.durationMs("CITADEL_SELF_SIGNED_CA_CERT_TTL"),
    checkIntervalMs: env.durationMs("CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL"),
    gracePercent: env.int("CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE"),
    spreadsChecks: env.bool("CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR"),
  };
}

function readNodeAccounts(env: EnvReader, log: Logger): readonly string[] {
  return listOf(env.string("CA_TRUSTED_NODE_ACCOUNTS")).filter((account) => {
    const isAccount = /^[^/]+\/[^/]+$/.test(account);
    if (!isAccount) log.warn("CA_TRUSTED_NODE_ACCOUNTS: entry is ignored, expected NAMESPACE/ACCOUNT", { account });
    return isAccount;
  });
}

const REGISTRIES = ["Kubernetes", "Consul"] as const;

/** Platforms that services are read from, besides rule objects. */
function readRegistries(flags: FlagValues, log: Logger): ReadonlySet<(typeof REGISTRIES)[number]> {
  const names = flags.stringArray("registries").flatMap(listOf);
  const duplicate = names.find((name, at) => names.indexOf(name) !== at);
  if (duplicate !== undefined) log.warn("registry is given twice", { registry: duplicate });
  return new Set(
    names.map((name) => {
      const known = REGISTRIES.find((registry) => registry === name);
      if (known !== undefined) return known;
      const allowed = `--registries allows ${REGISTRIES.join(", ")} and none ("--registries=")`;
      throw new Error(
        `service registry ${name} is not supported: ${allowed}; services of rule objects are always read`,
      );
    }),
  );
}

function readTlsVersion(text: string): "TLSv1.2" | "TLSv1.3" {
  if (text === "1.2") return "TLSv1.2";
  if (text === "1.3") return "TLSv1.3";
  throw new Error(`--tls-min-version is ${JSON.stringify(text)}, allowed are 1.2 and 1.3`);
}

function readMaxAge(flags: FlagValues): number {
  const age = flags.duration("keepaliveMaxServerConnectionAge");
  if (age >= 0n) return milliseconds(age);
  throw new Error(
    `--keepaliveMaxServerConnectionAge is ${formatDuration(age)}, only accepts positive duration eg: 30m`,
  );
}

export function listOf(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e6;
}
