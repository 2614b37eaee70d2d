import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { type EnvoyHandle, type EnvoyMetrics, type EnvoyPhase, findEnvoy } from "../envoy/index.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import type { PlatformInfo } from "../platform/index.ts";
import { decideSdsStart, reserveSdsSocket, type SdsStart } from "../sds/index.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { reserveXdsSocket } from "../xds-proxy/index.ts";
import type { BootstrapSources } from "./bootstrap-inputs.ts";
import { connectEnvoy, prepareBootstrap } from "./connect-envoy.ts";

export interface LaunchParts {
  readonly opened: CloseStack;
  readonly env: Environment;
  readonly platform: Promise<PlatformInfo>;
  readonly metrics: EnvoyMetrics;
  readonly log: Logger;
  /** Aborted: nothing is spawned any more. */
  readonly signal: AbortSignal;
}

export interface ReservedSockets {
  readonly sds: ReservedSocket | undefined;
  readonly xds: ReservedSocket | undefined;
}

/** What has been begun for Envoy before the parts that it will talk to. */
export interface Launch {
  readonly sds: SdsStart;
  readonly sources: Promise<BootstrapSources>;
  /** Bound, for the servers to come: Envoy is never refused, however long their start takes. */
  readonly sockets: Promise<ReservedSockets>;
  /** Resolves when it was spawned; undefined in an agent without Envoy. */
  readonly envoy: Promise<EnvoyHandle> | undefined;
  /** Calls with the present phase, if there is one, and with each new one. */
  followPhases(listener: (phase: EnvoyPhase) => void): void;
  /** How processes ended that were meant to go on, newest first; the last few. */
  exits(): readonly EnvoyExitRecord[];
}

export interface EnvoyExitRecord {
  readonly at: number;
  readonly reason: string;
}

const MAX_EXITS = 20;

/**
 * Envoy needs a twentieth of a second to link and to read its configuration before it looks for anybody: it is spawned as soon as that
 * is written and its sockets are bound, and the rest of the agent starts meanwhile.
 */
export async function launchEnvoy(config: AgentConfig, parts: LaunchParts): Promise<Launch> {
  const { opened, env, log, signal, metrics } = parts;
  const sds = await decideSdsStart({ ...config.sds.start, log });
  const sources = parts.platform.then((platform) => ({ config, env, sds, platform }));
  if (config.agent.disableEnvoy) {
    const none = Promise.resolve({ sds: undefined, xds: undefined });
    return { sds, sources, sockets: none, envoy: undefined, followPhases: () => undefined, exits: () => [] };
  }
  let phase: EnvoyPhase | undefined;
  let follow: (phase: EnvoyPhase) => void = () => undefined;
  const onPhase = (next: EnvoyPhase) => {
    phase = next;
    follow(next);
  };
  let exits: readonly EnvoyExitRecord[] = [];
  const onExit = (reason: string) => {
    exits = [{ at: Date.now(), reason }, ...exits].slice(0, MAX_EXITS);
  };
  const prepared = sources.then((known) => prepareBootstrap(known, log));
  // A platform that is slow to answer keeps Envoy waiting, not its sockets.
  const sockets = bindSockets(config, sds, opened);
  const binary = findBinary(config, env);
  const spawn = async () => {
    const [known] = await Promise.all([sources, sockets]);
    return connectEnvoy(config, { ...known, prepared, binary, metrics, log, signal, onPhase, onExit });
  };
  const envoy = spawn().catch(async (failure: unknown) => {
    // No Envoy will read it.
    await prepared.then(({ file }) => file.remove()).catch(() => undefined);
    throw failure;
  });
  // Reported where it is awaited.
  envoy.catch(() => undefined);
  prepared.catch(() => undefined);
  return {
    sds,
    sources,
    sockets,
    envoy,
    followPhases(listener) {
      follow = listener;
      if (phase !== undefined) listener(phase);
    },
    exits: () => exits,
  };
}

async function bindSockets(config: AgentConfig, sds: SdsStart, opened: CloseStack): Promise<ReservedSockets> {
  const own = sds.mode === "external" ? undefined : sds.listenPath;
  const [sdsSocket, xdsSocket] = await Promise.all([
    own === undefined ? undefined : reserveSdsSocket(own, config.envoy.user?.gid),
    servesXds(config) ? reserveXdsSocket(config.xds.proxy.socketPath) : undefined,
  ]);
  for (const reserved of [sdsSocket, xdsSocket]) if (reserved !== undefined) opened.add(reserved);
  return { sds: sdsSocket, xds: xdsSocket };
}

/** Whether Envoy gets its configuration through the agent. */
export function servesXds({ xds, generation }: AgentConfig): boolean {
  return xds.viaAgent && generation.servesXds;
}

const DEFAULT_BINARY = "/usr/local/bin/envoy";

/** A path the user chose is the only one; the default may be missing outside the image, where any Envoy of the machine will do. */
async function findBinary({ envoy }: AgentConfig, env: Environment): Promise<string> {
  if (envoy.binaryPath !== DEFAULT_BINARY) return envoy.binaryPath;
  const platform = `${process.platform}-${process.arch}`;
  const lookup = { env, isRoot: process.getuid?.() === 0, platform, install: false, progress: () => undefined };
  const atDefault = await findEnvoy({ ...lookup, explicit: DEFAULT_BINARY }).catch(() => undefined);
  return atDefault ?? (await findEnvoy(lookup).catch(() => DEFAULT_BINARY));
}
