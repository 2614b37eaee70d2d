import { dirname } from "node:path";
import type { Logger } from "../base/logger.ts";
import {
  type BootstrapFile,
  type BootstrapInputs,
  discoverBootstrap,
  readBootstrapOverride,
  writeBootstrap,
} from "../bootstrap/index.ts";
import { type EnvoyHandle, type EnvoyMetrics, type EnvoyPhase, envoyEnvironment, startEnvoy } from "../envoy/index.ts";
import { makeProxyDirectory } from "../files/proxy-file.ts";
import type { PlatformInfo } from "../platform/index.ts";
import type { SdsStart } from "../sds/index.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { step } from "./agent-error.ts";
import { type BootstrapSources, readBootstrapInputs } from "./bootstrap-inputs.ts";

export interface EnvoyParts {
  readonly env: Environment;
  readonly platform: PlatformInfo;
  readonly binary: Promise<string>;
  readonly sds: SdsStart;
  readonly prepared: Promise<PreparedBootstrap>;
  readonly metrics: EnvoyMetrics;
  readonly log: Logger;
  /** Ends what the start waits for: the control plane, a binary asked for its flags. */
  readonly signal: AbortSignal;
  onPhase(phase: EnvoyPhase): void;
  onExit(reason: string): void;
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

/** The bootstrap and Envoy itself. The bootstrap is generated again for each start, so that a restart sees the pod as it is then. */
export async function connectEnvoy(config: AgentConfig, parts: EnvoyParts): Promise<EnvoyHandle> {
  const { log, env } = parts;
  const { envoy, xds } = config;
  return step("failed to initialize envoy agent", async () => {
    const inputs = () => readBootstrapInputs({ config, ...parts });
    const owner = envoy.user;
    // Written before anything is spawned: a mistake in the configuration ends the start.
    const { inputs: first, file } = await parts.prepared;
    parts.signal.throwIfAborted();
    let prepared: BootstrapFile | undefined = file;
    const discover = (file: BootstrapFile) =>
      discoverBootstrap(file, { socketPath: xds.proxy.socketPath, log, owner, signal: parts.signal });
    return startEnvoy({
      ...envoy,
      binaryPath: await parts.binary,
      args: { ...envoy.args, serviceCluster: file.node.cluster },
      prepareConfig: async (epoch) => {
        const written = prepared ?? (await writeBootstrap(await inputs(), { log, owner, epoch }));
        prepared = undefined;
        const file = xds.bootstrapViaXds && written.generated ? await discover(written) : written;
        // Read again for each start, like the file it is merged over.
        const configYaml = await readBootstrapOverride(first, log);
        return {
          path: file.path,
          ...(configYaml !== undefined && { configYaml }),
          ...(file.generated && { remove: () => file.remove() }),
        };
      },
      env: envoyEnvironment(env, envoy.passEnvironment),
      log,
      metrics: parts.metrics,
      onPhase: parts.onPhase,
      onExit: parts.onExit,
      signal: parts.signal,
    });
  });
}
