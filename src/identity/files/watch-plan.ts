import { lstat, readlink, stat } from "node:fs/promises";
import { dirname, join, parse, resolve } from "node:path";

/** A place to watch: a directory with the entries in it that matter, or a file. Identity tells a replaced directory from the old one. */
export interface WatchPoint {
  readonly path: string;
  /** Undefined: every event counts (the point is the file itself). */
  readonly entries: ReadonlySet<string> | undefined;
  readonly identity: string;
}

/** More links than this are a loop, as for the kernel. */
const MAX_LINKS = 40;

/**
 * Everything whose change can change what `paths` lead to: each directory on the way, those behind every symbolic link on the way (at
 * any level), and the files themselves, because a bind-mounted file changes without an event in its directory. Where the way ends
 * early, the last existing directory is watched for the missing entry.
 */
export async function watchPlan(paths: readonly string[]): Promise<ReadonlyMap<string, WatchPoint>> {
  const points = new Map<string, { entries: Set<string> | undefined; identity: string }>();
  for (const path of paths) await addPath(points, resolve(path));
  return new Map([...points].map(([path, point]) => [path, { path, ...point }]));
}

type Points = Map<string, { entries: Set<string> | undefined; identity: string }>;

async function addPath(points: Points, start: string): Promise<void> {
  let { root: at } = parse(start);
  let rest = start.slice(at.length).split("/").filter(Boolean);
  let links = 0;
  for (let entry = rest.shift(); entry !== undefined; entry = rest.shift()) {
    await addEntry(points, at, entry);
    const next = join(at, entry);
    const kind = await entryKind(next);
    if (kind === "missing" || links > MAX_LINKS) return;
    if (kind === "link") {
      links += 1;
      const target = resolve(dirname(next), await readlink(next).catch(() => ""));
      at = parse(target).root;
      rest = [...target.slice(at.length).split("/").filter(Boolean), ...rest];
    } else if (kind === "directory") at = next;
    else points.set(next, { entries: undefined, identity: (await identityOf(next)) ?? "" });
  }
}

async function addEntry(points: Points, directory: string, entry: string): Promise<void> {
  const known = points.get(directory);
  if (known !== undefined) known.entries?.add(entry);
  else points.set(directory, { entries: new Set([entry]), identity: (await identityOf(directory)) ?? "" });
}

async function entryKind(path: string): Promise<"missing" | "link" | "directory" | "file"> {
  try {
    const found = await lstat(path);
    return found.isSymbolicLink() ? "link" : found.isDirectory() ? "directory" : "file";
  } catch {
    return "missing"; // not there, or not ours to see: either way the parent tells when that changes
  }
}

/** Device and inode; undefined when there is nothing. */
export async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
