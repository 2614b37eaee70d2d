import { type Logger, silentLogger } from "../base/logger.ts";
import type { BootstrapInputs } from "../bootstrap/index.ts";
import { fileErrorText } from "../files/read-file.ts";
import type { PlatformInfo } from "../platform/index.ts";
import { probeSocket, type SdsStart } from "../sds/index.ts";
import { diskFiles, readIfPresent } from "../settings/config-files.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";

const LABELS_PATH = "./etc/istio/pod/labels";
const ANNOTATIONS_PATH = "./etc/istio/pod/annotations";
const CREDENTIAL_SOCKET = "./var/run/secrets/credential-uds/socket";

export interface BootstrapSources {
  readonly config: AgentConfig;
  readonly env: Environment;
  readonly platform: PlatformInfo;
  readonly sds: SdsStart;
}

/** Everything the bootstrap is made of. Pod files are read each time: labels may have changed since the last start of Envoy. */
export async function readBootstrapInputs(
  sources: BootstrapSources,
  log: Logger = silentLogger,
): Promise<BootstrapInputs> {
  const { platform, sds } = sources;
  const { bootstrap } = sources.config;
  const { region, zone, subzone } = platform.locality;
  const [podLabels, podAnnotations, credentialSocket] = await Promise.all([
    readIfThere(LABELS_PATH, (reason) => log.warn(`failed to read pod labels: ${reason}`)),
    // Reported when the configuration was read.
    readIfThere(ANNOTATIONS_PATH, () => undefined),
    probeSocket(CREDENTIAL_SOCKET),
  ]);
  return {
    ...bootstrap,
    env: definedValues(sources.env),
    podLabels,
    podAnnotations,
    platform: {
      metadata: platform.metadata,
      locality: { ...(region && { region }), ...(zone && { zone }), ...(subzone && { sub_zone: subzone }) },
      labels: platform.labels,
      isKubernetes: platform.isKubernetes,
    },
    agent: {
      ...bootstrap.agent,
      credentialSocketExists: credentialSocket === "alive",
      customCredentialsFileExists: sds.mode === "files-only",
    },
  };
}

async function readIfThere(path: string, onProblem: (reason: string) => void): Promise<string | null> {
  try {
    return (await readIfPresent(diskFiles, path)) ?? null;
  } catch (thrown) {
    onProblem(fileErrorText(path, thrown));
    return null;
  }
}

function definedValues(env: Environment): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) defined[name] = value;
  return defined;
}
