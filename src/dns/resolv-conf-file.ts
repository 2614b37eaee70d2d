import { access } from "node:fs/promises";
import { errorCode } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";
import { watchFiles } from "../files/watch/watch-files.ts";
import { parseResolvConf, type ResolvConf } from "./core/resolv-conf.ts";
import { DnsError, systemWords } from "./errors.ts";

/** The latest readable content of the file; `stop` ends the watch. */
export interface ResolvConfFile {
  readonly current: ResolvConf;
  stop(): Promise<void>;
}

/** Without waiting: it is read again every few seconds, and four turns through other threads wake two processors each time. */
export async function readResolvConf(path: string): Promise<ResolvConf> {
  try {
    return parseResolvConf(readTextLimitedSync(path));
  } catch (cause) {
    throw new DnsError("resolv-conf", `open ${path}: ${systemWords(cause)}`, { cause });
  }
}

/** Whether the machine's own servers were put aside for an agent that takes over port 53. Only a certain "no" is no. */
export async function fileMayExist(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (failure) {
    return errorCode(failure) !== "ENOENT";
  }
}

/** One replacement of the file is several events. */
const DEBOUNCE_MS = 50;

/**
 * Follows the file; `rescanMs` is for mounts that report no change. A file that has become unreadable, or has no nameserver, leaves the
 * previous content in force.
 */
export async function watchResolvConf(
  path: string,
  initial: ResolvConf,
  rescanMs: number,
  log: Logger,
  onChange: (next: ResolvConf) => void,
): Promise<ResolvConfFile> {
  let current = initial;
  /** Why the file was last not used: logged once, however often it is read. */
  let unused = "";
  const reread = async () => {
    const next = await readResolvConf(path).catch((failure: unknown) => systemWords(failure));
    const problem = problemOf(next);
    if (problem !== "" && problem !== unused) log.warn(problem, { file: path });
    unused = problem;
    if (typeof next === "string" || problem !== "" || JSON.stringify(next) === JSON.stringify(current)) return;
    current = next;
    log.info("resolv.conf changed", { file: path, servers: next.nameservers, search: next.search });
    onChange(next);
  };
  const problemOf = (next: ResolvConf | string): string => {
    if (typeof next === "string") return `failed to load ${path}: ${next}`;
    // Most likely somebody is writing it; the end of the write is an event of its own.
    const isEmptied = next.nameservers.length === 0 && current.nameservers.length > 0;
    return isEmptied ? "resolv.conf has no nameserver, the last ones stay in use" : "";
  };
  const watch = await watchFiles({ paths: [path], debounceMs: DEBOUNCE_MS, rescanMs, log, onEvent: reread });
  return {
    get current() {
      return current;
    },
    stop: () => watch.stop(),
  };
}
