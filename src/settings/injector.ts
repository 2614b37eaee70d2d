import type { Logger } from "../base/logger.ts";
import { listOf, parsePort, readClusterIdentity, readSelfSigned } from "./discovery.ts";
import { readCertificateSource } from "./discovery-certificate.ts";
import type { InjectorSettings } from "./discovery-settings.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import type { FlagValues } from "./flag-values.ts";
import { readWebhookSettings } from "./webhooks.ts";

/** The options of webhooks that run alone. Throws with what is wrong and what is allowed. */
export function readInjectorSettings(flags: FlagValues, environment: Environment, log: Logger): InjectorSettings {
  const env = createEnvReader(environment, "master", () => undefined); // warned about at the start of every command
  const certificate = readCertificateSource(flags, env.string("PILOT_CERT_PROVIDER"), log);
  if (certificate === "none") {
    throw new Error(
      "webhooks need a certificate: give --tlsCertFile, --tlsKeyFile and --caCertFile, or set PILOT_CERT_PROVIDER=istiod",
    );
  }
  const https = parsePort("httpsAddr", flags.string("httpsAddr"));
  if (https === undefined) throw new Error("--httpsAddr is empty, expected HOST:PORT, [ADDRESS]:PORT or :PORT");
  const monitoring = parsePort("monitoringAddr", flags.string("monitoringAddr"));
  const kubeconfig = flags.string("kubeconfig");
  const files = { config: flags.string("injectConfigFile"), values: flags.string("valuesFile") };
  const namespace = flags.string("namespace");
  const meshConfigFile = flags.string("meshConfigFile");
  return {
    clusterId: flags.string("clusterID"),
    ports: { https, ...(monitoring !== undefined && { monitoring }) },
    // In a pod the cluster is known; elsewhere whoever means one names it.
    ...(kubeconfig !== "" || environment.KUBERNETES_SERVICE_HOST !== undefined
      ? { kubernetes: { kubeconfig, environment, identity: readClusterIdentity(env) } }
      : {}),
    webhooks: readWebhookSettings(environment, log, files.config + files.values === "" ? undefined : files),
    ...(typeof certificate === "string" ? {} : { servingFiles: certificate }),
    caDirectory: env.string("ROOT_CA_DIR"),
    ca: { selfSigned: readSelfSigned(env) },
    hosts: [
      ...listOf(env.string("ISTIOD_CUSTOM_HOST")),
      ...serviceNames(flags.string("serviceName"), namespace, flags.string("domain")),
    ],
    sharedMeshConfig: env.string("SHARED_MESH_CONFIG"),
    ...(meshConfigFile !== "" && { meshConfigFile }),
    domainSuffix: flags.string("domain"),
    systemNamespace: namespace,
    revision: flags.string("revision"),
    shutdownMs: Number(flags.duration("shutdownDuration")) / 1e6,
  };
}

function serviceNames(service: string, namespace: string, domain: string): readonly string[] {
  return service === "" ? [] : [`${service}.${namespace}.svc`, `${service}.${namespace}.svc.${domain}`];
}
