import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Where everything of one mesh lies. */
export interface StateFolder {
  readonly path: string;
  readonly stateFile: string;
  readonly lockFile: string;
  /** The first file that a mesh writes there, and one that stays. */
  readonly meshConfig: string;
  /** What the control plane reads. */
  readonly config: string;
  readonly applied: string;
  readonly ca: string;
  readonly logs: string;
  /** What namespaces of an ordinary user have in place of files in /etc. */
  readonly resolvers: string;
  /** What a `mesh up` in the background prints. */
  readonly upLog: string;
  workload(name: string): string;
  log(part: string): string;
}

export function stateFolder(path: string): StateFolder {
  const logs = join(path, "logs");
  const config = join(path, "config");
  return {
    path,
    stateFile: join(path, "state.json"),
    lockFile: join(path, "lock"),
    meshConfig: join(path, "mesh-config.yaml"),
    config,
    // The control plane takes an object that stands in two files from the first by path: what was applied last wins.
    applied: join(config, "10-applied"),
    ca: join(path, "ca"),
    logs,
    resolvers: join(path, "netns"),
    upLog: join(path, "mesh-up.log"),
    workload: (name) => join(path, "workloads", name),
    log: (part) => join(logs, `${part.replaceAll("/", ".")}.log`),
  };
}

export interface StateHome {
  readonly isRoot: boolean;
  readonly home: string | undefined;
  readonly xdgStateHome: string | undefined;
  readonly temporary: string;
}

/** The folder that holds one folder per mesh. Root's can be entered by the user that agents run as; a home directory often cannot. */
export function stateHome({ isRoot, home, xdgStateHome, temporary }: StateHome): string {
  if (isRoot) return "/var/lib/pilot-agent/mesh";
  const base = xdgStateHome || (home ? join(home, ".local/state") : temporary);
  return join(base, "pilot-agent/mesh");
}

/** Names of the meshes that have left a trace there. */
export function knownMeshes(home: string): readonly string[] {
  try {
    return readdirSync(home, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch {
    return [];
  }
}
