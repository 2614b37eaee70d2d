import type { Logger } from "../../base/logger.ts";
import { type MeshNetwork, parseMeshNetworks } from "../../istio-api/mesh-config/mesh-networks.ts";
import type { MeshLayer } from "../../mesh-model/build-mesh-settings.ts";
import { type ClusterLayers, type ConfigFile, startConfigFile } from "../config-file.ts";
import { DiscoveryError } from "../discovery-error.ts";
import { type ConfigParser, DIRECT_PARSER } from "../parse/config-parser.ts";

export interface MeshNetworksOptions {
  readonly path: string | undefined;
  /** Where they are besides the file. */
  readonly cluster?: ClusterLayers | undefined;
  /** In this thread when absent. */
  readonly parser?: ConfigParser;
  readonly log: Logger;
}

export type MeshNetworksFile = ConfigFile<readonly MeshNetwork[]>;

/** The networks of a file or a cluster, watched. */
export function startMeshNetworks({
  parser = DIRECT_PARSER,
  ...where
}: MeshNetworksOptions): Promise<MeshNetworksFile> {
  const parse = async ([only]: readonly MeshLayer[]) => (only === undefined ? [] : parseNetworks(only, parser));
  return startConfigFile({ ...where, what: "mesh networks", isExpected: false, parse });
}

async function parseNetworks({ text, source }: MeshLayer, parser: ConfigParser): Promise<readonly MeshNetwork[]> {
  const { document, fault } = await parser.parseYaml(text);
  const { networks, problems } = parseMeshNetworks(document);
  const problem = fault?.message ?? problems.join("; ");
  if (problem === "") return networks;
  throw new DiscoveryError("invalid-mesh-config", `failed reading mesh networks: ${source}: ${problem}`);
}
