import { lstatSync, readlinkSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** What to watch: a directory with the entries in it that matter, or a file. Identity tells a replaced directory from the old one. */
export interface WatchPoint {
  readonly path: string;
  /** Undefined: every event counts (one of the paths leads here). */
  readonly entries: ReadonlySet<string> | undefined;
  readonly identity: string;
}

/** More links than this are a loop, as for the kernel. */
const MAX_LINKS = 40;

/**
 * Everything whose change can change what `paths`, files or directories, lead to: each directory on the way, those behind every symbolic link on the way (at
 * any level), and the files themselves, because a bind-mounted file changes without an event in its directory. Where the way ends
 * early, the last existing directory is watched for the missing entry. The way of a relative path begins in the working directory, which
 * a process keeps also when it is renamed: a watch on a directory like /tmp above it would wake the agent for foreign files, and
 * takes the kernel 14 ms where many names were looked for in it. Looks without waiting: dozens of turns through other threads would take
 * longer than the looks themselves.
 */
export function watchPlan(paths: readonly string[]): ReadonlyMap<string, WatchPoint> {
  const points = new Map<string, { entries: Set<string> | undefined; identity: string }>();
  for (const path of paths) addPath(points, isAbsolute(path) ? "/" : process.cwd(), path);
  return new Map([...points].map(([path, point]) => [path, { path, ...point }]));
}

type Points = Map<string, { entries: Set<string> | undefined; identity: string }>;

function addPath(points: Points, start: string, path: string): void {
  let at = start;
  let rest = partsOf(path);
  let links = 0;
  for (let entry = rest.shift(); entry !== undefined; entry = rest.shift()) {
    if (entry === "..") {
      at = dirname(at);
      continue;
    }
    addEntry(points, at, entry);
    const next = join(at, entry);
    const kind = entryKind(next);
    if (kind === "missing" || links > MAX_LINKS) return;
    if (kind === "link") {
      links += 1;
      const target = linkTarget(next);
      if (isAbsolute(target)) at = "/";
      rest = [...partsOf(target), ...rest];
    } else if (kind === "directory") {
      at = next;
      if (rest.length === 0) points.set(at, { entries: undefined, identity: identityOf(at) ?? "" });
    } else points.set(next, { entries: undefined, identity: identityOf(next) ?? "" });
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function addEntry(points: Points, directory: string, entry: string): void {
  const known = points.get(directory);
  if (known !== undefined) known.entries?.add(entry);
  else points.set(directory, { entries: new Set([entry]), identity: identityOf(directory) ?? "" });
}

function entryKind(path: string): "missing" | "link" | "directory" | "file" {
  try {
    const found = lstatSync(path);
    return found.isSymbolicLink() ? "link" : found.isDirectory() ? "directory" : "file";
  } catch {
    return "missing"; // not there, or not ours to see: either way the parent reports when that changes
  }
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/**
 * Device, inode and birth; undefined when there is nothing. Without its birth a directory that was removed and made again looks like the
 * old one: most file systems give the number that was just freed to the next comer.
 */
export function identityOf(path: string): string | undefined {
  try {
    const { dev, ino, birthtimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  } catch {
    return undefined;
  }
}
