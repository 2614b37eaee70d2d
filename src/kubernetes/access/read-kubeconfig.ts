import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { buildAccess, type Entry, invalid, type Members, members, text } from "./kubeconfig-entries.ts";

export interface KubeconfigOptions {
  /** In order of precedence. */
  readonly paths: readonly string[];
  /** The current context when absent. */
  readonly context?: string | undefined;
}

interface Merged {
  readonly clusters: Map<string, Entry>;
  readonly users: Map<string, Entry>;
  readonly contexts: Map<string, Entry>;
  currentContext: string | undefined;
}

/**
 * One context of the files, merged as kubectl does: of two entries with the same name the first counts, whole, and so does the first
 * current context. In a list files may be missing; a single one may not. Rejects with "invalid-config".
 */
export async function readKubeconfig({ paths, context }: KubeconfigOptions): Promise<ClusterAccess> {
  return chooseContext(await readAll(paths), paths.join(":"), context);
}

function chooseContext(merged: Merged, shown: string, context: string | undefined): ClusterAccess {
  const name = context ?? merged.currentContext;
  if (name === undefined) throw invalid(`${shown} has no current-context; ${listed("contexts", merged.contexts)}`);
  const chosen = entryOf(merged.contexts, "context", name, shown).members;
  const user = text(chosen, "user");
  const cluster = entryOf(merged.clusters, "cluster", text(chosen, "cluster") ?? "", shown);
  return buildAccess({
    name,
    cluster,
    user: user === undefined ? undefined : entryOf(merged.users, "user", user, shown),
    namespace: text(chosen, "namespace") ?? "default",
  });
}

export interface KubeconfigTextOptions {
  /** Where it is from, for messages. */
  readonly source: string;
  /** Members that make this process read its own files or run programs, and may be used nevertheless. */
  readonly allowed: readonly string[];
}

/**
 * The current context of a kubeconfig that somebody else wrote. What would make this process run a program or send the content of one of its
 * own files to a server of their choice is refused unless it is allowed by name. Rejects with "invalid-config".
 */
export async function parseForeignKubeconfig(
  content: string,
  { source, allowed }: KubeconfigTextOptions,
): Promise<ClusterAccess> {
  const merged = emptyMerge();
  const document = await parseDocument(content, source);
  if (document === null) throw invalid(`kubeconfig of ${source} is empty`);
  mergeFile(merged, members(document, source), "/");
  for (const [member, option] of LOCAL_MEMBERS) {
    const user = [...merged.users].find(([, entry]) => entry.members[member] !== undefined);
    if (user !== undefined && !allowed.includes(option))
      throw invalid(
        `kubeconfig of ${source}: user ${user[0]} has ${member}, which is not allowed; allowed are token, client-certificate-data and client-key-data (PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS may add ${option})`,
      );
  }
  return chooseContext(merged, source, undefined);
}

/** Members of a user, and the names by which they are allowed: those of the reference. */
const LOCAL_MEMBERS = [
  ["exec", "exec"],
  ["tokenFile", "tokenFile"],
  ["client-certificate", "clientCertificate"],
  ["client-key", "clientKey"],
] as const;

/** The files that KUBECONFIG lists, or the one in the home folder. */
export function kubeconfigPaths(env: Readonly<NodeJS.ProcessEnv>): string[] {
  const listedPaths = (env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  if (listedPaths.length > 0) return listedPaths;
  return env.HOME ? [resolve(env.HOME, ".kube/config")] : [];
}

async function readAll(paths: readonly string[]): Promise<Merged> {
  const merged = emptyMerge();
  let found = 0;
  for (const path of paths) {
    const content = await readFile(path, "utf8").catch((failure: unknown) => {
      if (errorCode(failure) === "ENOENT" && paths.length > 1) return undefined;
      throw invalid(`kubeconfig ${path}: ${errorMessage(failure)}`, failure);
    });
    if (content === undefined) continue;
    found += 1;
    const document = await parseDocument(content, path);
    if (document !== null) mergeFile(merged, members(document, path), path);
  }
  if (found === 0)
    throw invalid(`no kubeconfig: ${paths.length === 0 ? "none is named" : `${paths.join(", ")} do not exist`}`);
  return merged;
}

function emptyMerge(): Merged {
  return { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: undefined };
}

function parseDocument(content: string, shown: string): Promise<unknown> {
  return parseYaml(content).catch((failure: unknown) => {
    // The text holds secrets: only where it is wrong is said.
    throw invalid(`kubeconfig ${shown} is not YAML: ${errorMessage(failure).split("\n")[0]}`);
  });
}

function mergeFile(merged: Merged, document: Members, path: string): void {
  const folder = dirname(resolve(path));
  const add = (into: Map<string, Entry>, list: string, member: string) => {
    const entries = document[list] ?? [];
    if (!Array.isArray(entries)) throw invalid(`kubeconfig ${path}: ${list} is not a list`);
    for (const entry of entries) {
      const given = members(entry, `${path}: ${list}`);
      const name = text(given, "name");
      if (name !== undefined && !into.has(name))
        into.set(name, { members: members(given[member] ?? {}, `${path}: ${list}: ${name}`), folder });
    }
  };
  add(merged.clusters, "clusters", "cluster");
  add(merged.users, "users", "user");
  add(merged.contexts, "contexts", "context");
  merged.currentContext ??= text(document, "current-context");
}

function entryOf(entries: ReadonlyMap<string, Entry>, kind: string, name: string, shown: string): Entry {
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  throw invalid(`${shown} has no ${kind} ${JSON.stringify(name)}; ${listed(`${kind}s`, entries)}`);
}

function listed(kind: string, entries: ReadonlyMap<string, Entry>): string {
  return entries.size === 0 ? `it has no ${kind}` : `its ${kind} are ${[...entries.keys()].join(", ")}`;
}
