import { findEnvoy } from "../envoy/index.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";

const DEFAULT_BINARY = "/usr/local/bin/envoy";

/** A path the user chose is the only one; the default may be missing outside the image, where any Envoy of the machine will do. */
export async function findBinary({ envoy }: AgentConfig, env: Environment): Promise<string> {
  if (envoy.binaryPath !== DEFAULT_BINARY) return envoy.binaryPath;
  const platform = `${process.platform}-${process.arch}`;
  const lookup = { env, isRoot: process.getuid?.() === 0, platform, install: false, progress: () => undefined };
  const atDefault = await findEnvoy({ ...lookup, explicit: DEFAULT_BINARY }).catch(() => undefined);
  return atDefault ?? (await findEnvoy(lookup).catch(() => DEFAULT_BINARY));
}
