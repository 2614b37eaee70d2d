import { stat } from "node:fs/promises";
import type { AgentConfig, Environment } from "../config/index.ts";
import { createFlagProbe, type FlagProbe, findEnvoy, hasParentDeathSignal } from "../envoy/index.ts";

const DEFAULT_BINARY = "/usr/local/bin/envoy";

export interface EnvoyBinary {
  readonly path: string;
  readonly flagProbe: FlagProbe;
  /** Whether the kernel can be told to end Envoy with the agent. */
  readonly hasSignal: Promise<boolean>;
}

/** Looked for while other parts start: each question asked of another program takes as long as starting it. */
export async function findBinary({ envoy }: AgentConfig, env: Environment): Promise<EnvoyBinary> {
  const hasSignal = hasParentDeathSignal();
  hasSignal.catch(() => undefined);
  const path = envoy.binaryPath === DEFAULT_BINARY ? await anyEnvoy(env) : envoy.binaryPath;
  const flagProbe = createFlagProbe();
  const stats = await stat(path).catch(() => undefined);
  if (stats !== undefined) flagProbe.knownFlags({ path, stats }).catch(() => undefined);
  return { path, flagProbe, hasSignal };
}

/** A path the user chose is the only one; the default may be missing outside the image, where any Envoy of the machine will do. */
async function anyEnvoy(env: Environment): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const lookup = { env, isRoot: process.getuid?.() === 0, platform, install: false, progress: () => undefined };
  const atDefault = await findEnvoy({ ...lookup, explicit: DEFAULT_BINARY }).catch(() => undefined);
  return atDefault ?? (await findEnvoy(lookup).catch(() => DEFAULT_BINARY));
}
