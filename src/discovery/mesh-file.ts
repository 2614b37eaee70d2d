import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { defaultMeshSettings, type MeshLayer, parseMeshLayers } from "../mesh-model/build-mesh-settings.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import { type ClusterLayers, startConfigFile } from "./config-file.ts";
import { DiscoveryError } from "./discovery-error.ts";
import { type ConfigParser, DIRECT_PARSER } from "./parse/config-parser.ts";

type MeshFeatures = Pick<MeshSettings, "quicListeners" | "persistentSessions">;

export interface MeshFileOptions {
  /** Undefined: defaults for ever. */
  readonly path: string | undefined;
  readonly domainSuffix: string;
  /** Not part of any mesh config; all false when absent. */
  readonly features?: MeshFeatures | undefined;
  readonly log: Logger;
  /** Where mesh config is besides the file. */
  readonly cluster?: ClusterLayers | undefined;
  /** In this thread when absent. */
  readonly parser?: ConfigParser;
  /** Also without a notice of the file system the file is looked at this often; 5 s. */
  readonly rescanMs?: number;
}

export interface MeshFile extends Handle {
  readonly settings: MeshSettings;
  subscribe(listener: (settings: MeshSettings) => void): void;
}

/** The mesh settings of a file or a cluster, watched. */
export async function startMeshFile(options: MeshFileOptions): Promise<MeshFile> {
  const { domainSuffix, features, parser = DIRECT_PARSER, ...where } = options;
  const parse = async (layers: readonly MeshLayer[]) =>
    Object.freeze({ ...(await parseMesh(layers, { domainSuffix, parser })), ...features });
  const file = await startConfigFile({ ...where, what: "mesh config", isExpected: true, parse });
  return toHandle({
    get settings() {
      return file.value;
    },
    subscribe: file.subscribe,
    ended: file.ended,
    stop: () => file.stop(),
  });
}

async function parseMesh(
  layers: readonly MeshLayer[],
  { domainSuffix, parser }: { domainSuffix: string; parser: ConfigParser },
): Promise<MeshSettings> {
  if (layers.length === 0) return defaultMeshSettings(domainSuffix);
  const { settings, problem, source = "" } = await parseMeshLayers(layers, { domainSuffix, parse: parser.parseYaml });
  if (problem === undefined) return settings;
  throw new DiscoveryError("invalid-mesh-config", `failed reading mesh config: ${source}: ${problem}`);
}
