import { buildStamp, formatVersion } from "../../base/build-stamp.ts";
import { untilAborted } from "../../base/wait.ts";
import { startInjector } from "../../discovery/index.ts";
import { addressText } from "../../net/listen/listen.ts";
import { readInjectorSettings } from "../../settings/injector.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { DISCOVERY_FLAGS } from "./discovery-flags.ts";

/** Flags that mean what they mean to the whole control plane. */
const SHARED = new Set([
  "caCertFile",
  "clusterID",
  "domain",
  "httpsAddr",
  "monitoringAddr",
  "namespace",
  "shutdownDuration",
  "tlsCertFile",
  "tlsKeyFile",
]);

export const command: Command = {
  name: "injector",
  use: "injector",
  short: "Runs the webhooks of the control plane alone",
  long: `Serves what an API server asks about objects: /inject puts the proxy into pods, /validate checks rule objects.

discovery serves the same; this command is for installations that inject with another control plane, and for tests. In a pod, or with
--kubeconfig, the settings are those of the cluster (ConfigMaps istio and istio-sidecar-injector), and the CA bundle is written to the
webhook configurations of the revision. Elsewhere they come from files, or are built in. All are watched.`,
  example: `  # In a cluster, with certificates that something else renews
  pilot-agent injector --tlsCertFile tls.crt --tlsKeyFile tls.key --caCertFile ca.crt

  # On this machine, with files
  pilot-agent injector --httpsAddr 127.0.0.1:15017 --injectConfigFile config.yaml --valuesFile values.yaml`,
  flags: [
    ...DISCOVERY_FLAGS.filter(({ name }) => SHARED.has(name)),
    { name: "kubeconfig", type: "string", default: "", usage: "File that names the API server; in a pod it is known" },
    {
      name: "injectConfigFile",
      type: "string",
      default: "",
      usage: "Injection configuration in YAML (policy, selectors, templates), instead of the cluster's ConfigMap",
    },
    { name: "valuesFile", type: "string", default: "", usage: "Values in YAML or JSON, over the built-in ones" },
    { name: "meshConfigFile", type: "string", default: "", usage: "Mesh configuration, instead of the cluster's" },
    {
      name: "revision",
      short: "r",
      type: "string",
      default: "",
      env: ["REVISION"],
      usage: "Revision whose webhook configurations and ConfigMaps are ours",
    },
    {
      name: "serviceName",
      type: "string",
      default: "istio-sidecar-injector",
      usage: "Service in front of the webhooks; its names are in the certificate beside those of istiod",
    },
  ],
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: ${args.join(" ")}` : undefined,
  run: runInjector,
};

async function runInjector({ flags, env, log, signal }: CommandContext): Promise<number> {
  log.info(`Version ${formatVersion(buildStamp)}`);
  const settings = readInjectorSettings(flags, env, log);
  const started = await startInjector({ ...settings, log, signal }).catch((failure: unknown) => {
    // A cancelled start has not failed.
    if (!signal.aborted) throw failure;
    log.info("Stopping during the start", { reason: String(signal.reason) });
  });
  if (started === undefined) return 0;
  await using injector = started;
  const { https, monitoring } = injector.addresses;
  log.info(`Listening on ${addressText(https)}: webhooks (/inject, /validate)`);
  if (monitoring !== undefined) log.info(`Listening on ${addressText(monitoring)}: /ready, /metrics, /version`);
  await Promise.race([untilAborted(signal), injector.ended]);
  log.info("Stopping", { reason: String(signal.reason ?? "ended") });
  await injector.stop();
  return 0;
}
