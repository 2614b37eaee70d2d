import { dirname } from "node:path";
import type { Logger } from "../base/logger.ts";
import {
  type BootstrapFile,
  type BootstrapInputs,
  discoverBootstrap,
  readBootstrapOverride,
  writeBootstrap,
} from "../bootstrap/index.ts";
import {
  type EnvoyHandle,
  type EnvoyMetrics,
  type EnvoyOptions,
  type EnvoyPhase,
  envoyEnvironment,
  impliesHotRestart,
  loopbackOf,
  startEnvoy,
} from "../envoy/index.ts";
import { makeProxyDirectory } from "../files/proxy-file.ts";
import type { PlatformInfo } from "../platform/index.ts";
import type { SdsStart } from "../sds/index.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { step } from "./agent-error.ts";
import { type BootstrapSources, readBootstrapInputs } from "./bootstrap-inputs.ts";

/** A third more than the drain: the usual 45 s of drain give the usual 60 s. */
const PARENT_SHUTDOWN_FACTOR = 4 / 3;

export interface EnvoyParts {
  readonly env: Environment;
  readonly platform: PlatformInfo;
  readonly binary: Promise<string>;
  readonly sds: SdsStart;
  readonly xdsRootCert: string;
  readonly prepared: Promise<PreparedBootstrap>;
  readonly metrics: EnvoyMetrics;
  readonly log: Logger;
  /** Ends what the start waits for: the control plane, a binary asked for its flags. */
  readonly signal: AbortSignal;
  onPhase(phase: EnvoyPhase): void;
}

export interface PreparedBootstrap {
  readonly inputs: BootstrapInputs;
  readonly file: BootstrapFile;
}

/** The bootstrap of the first start, written while the sockets are opened that Envoy will look for. */
export async function prepareBootstrap(sources: BootstrapSources, log: Logger): Promise<PreparedBootstrap> {
  const inputs = await readBootstrapInputs(sources, log);
  const { config } = sources;
  // Sockets of the agent's own come into the same directory: whoever is first to make it, it is the agent's.
  if (config.xds.viaAgent) await makeProxyDirectory(dirname(config.xds.proxy.socketPath), { access: "shared" });
  log.info(`Pilot SAN: [${inputs.agent.pilotSubjectAltNames.join(" ")}]`);
  return { inputs, file: await writeBootstrap(inputs, { log, owner: config.envoy.user }) };
}

/** The bootstrap and Envoy itself. The bootstrap is made anew for each start, so that a restart sees the pod as it is then. */
export async function connectEnvoy(config: AgentConfig, parts: EnvoyParts): Promise<EnvoyHandle> {
  const { log, env } = parts;
  const { envoy, xds } = config;
  return step("failed to initialize envoy agent", async () => {
    const inputs = () => readBootstrapInputs({ config, ...parts });
    const owner = config.envoy.user;
    // Written before anything is spawned: a mistake in the configuration is told at once and ends the start.
    const { inputs: first, file } = await parts.prepared;
    parts.signal.throwIfAborted();
    let prepared: BootstrapFile | undefined = file;
    const discover = (file: BootstrapFile) =>
      discoverBootstrap(file, { socketPath: xds.proxy.socketPath, log, owner, signal: parts.signal });
    return startEnvoy({
      rules: config.generation.envoy,
      binaryPath: await parts.binary,
      args: {
        ...envoyArgs(config),
        serviceCluster: file.node.cluster,
      },
      prepareConfig: async (epoch) => {
        const written = prepared ?? (await writeBootstrap(await inputs(), { log, owner, epoch }));
        prepared = undefined;
        const file = xds.bootstrapViaXds && written.generated ? await discover(written) : written;
        // Read anew for each start, as the file it is merged over.
        const configYaml = await readBootstrapOverride(first, log);
        return {
          path: file.path,
          ...(configYaml !== undefined && { configYaml }),
          ...(file.generated && { remove: () => file.remove() }),
        };
      },
      admin: { host: loopbackOf(config.role.ipAddresses), port: envoy.adminPort },
      termination: termination(config),
      ...hotRestart(config),
      guard: envoy.restartOnCrash ? "on" : "off",
      ...(owner && { user: owner }),
      env: envoyEnvironment(env, [...envoy.passEnvironment, ...Object.keys(config.proxyConfig.proxyMetadata ?? {})]),
      fips: config.security.compliancePolicy.startsWith("fips-140-"),
      log,
      metrics: parts.metrics,
      onPhase: parts.onPhase,
      signal: parts.signal,
    });
  });
}

function envoyArgs({ envoy, role, proxyConfig }: AgentConfig): EnvoyOptions["args"] {
  return {
    drainMs: envoy.drainSeconds * 1000,
    nodeIps: role.ipAddresses,
    logLevel: envoy.logLevel,
    componentLogLevel: envoy.componentLogLevel,
    jsonLog: envoy.logAsJson,
    ...(envoy.fileFlushIntervalMs !== undefined && { fileFlushIntervalMs: envoy.fileFlushIntervalMs }),
    fileFlushMinSizeKb: envoy.fileFlushMinSizeKb,
    skipDeprecatedLogs: envoy.skipDeprecatedLogs,
    enableCoreDump: envoy.enableCoreDump,
    concurrency: envoy.concurrency,
    serviceNode: role.serviceNode,
    statNameLength: proxyConfig.statNameLength ?? 189,
    ...(proxyConfig.availabilityZone !== undefined && { availabilityZone: proxyConfig.availabilityZone }),
  };
}

function termination({ envoy }: AgentConfig): EnvoyOptions["termination"] {
  const { statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort } = envoy;
  return {
    drainMs: envoy.terminationDrainMs,
    inboundOnly: envoy.isSidecar,
    ownPorts: [statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort].filter((port) => port !== 0),
    ...(envoy.exitOnZeroActiveConnections && {
      exitOnZero: { minimumMs: envoy.minimumDrainMs, maximumMs: envoy.maximumDrainMs },
    }),
  };
}

function hotRestart({ generation, envoy }: AgentConfig): Pick<EnvoyOptions, "hotRestart"> {
  if (!envoy.hotRestart && !impliesHotRestart(generation.envoy.commandLine)) return {};
  const seconds = envoy.parentShutdownSeconds ?? Math.ceil(envoy.drainSeconds * PARENT_SHUTDOWN_FACTOR);
  return { hotRestart: { parentShutdownMs: seconds * 1000 } };
}
