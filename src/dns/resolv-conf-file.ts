import { type StatsListener, unwatchFile, watchFile } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { errorCode } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { parseResolvConf, type ResolvConf } from "./core/resolv-conf.ts";
import { DnsError, systemWords } from "./errors.ts";

/** The latest readable content of the file; `stop` ends the watch. */
export interface ResolvConfFile {
  readonly current: ResolvConf;
  stop(): Promise<void>;
}

export async function readResolvConf(path: string): Promise<ResolvConf> {
  try {
    return parseResolvConf(await readFile(path, "utf8"));
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

/**
 * Watches by polling: in a container the file is a bind mount, whose replacement no directory watch reports. A file that has become
 * unreadable, or has no nameserver, leaves the previous content in force.
 */
export function watchResolvConf(
  path: string,
  initial: ResolvConf,
  pollMs: number,
  log: Logger,
  onChange: (next: ResolvConf) => void,
): ResolvConfFile {
  let current = initial;
  let stopped = false;
  let reading: Promise<void> = Promise.resolve();
  const reread = async () => {
    try {
      const next = await readResolvConf(path);
      if (stopped || JSON.stringify(next) === JSON.stringify(current)) return;
      // Most likely somebody is writing it; the next look has the rest.
      if (next.nameservers.length === 0 && current.nameservers.length > 0) {
        log.warn("resolv.conf has no nameserver, the last ones stay in use", { file: path });
        return;
      }
      current = next;
      log.info("resolv.conf changed", { file: path, servers: next.nameservers, search: next.search });
      onChange(next);
    } catch (failure) {
      if (!stopped) log.warn(`failed to load ${path}: ${systemWords(failure)}`);
    }
  };
  const listener: StatsListener = () => {
    reading = reading.then(reread);
  };
  watchFile(path, { interval: pollMs, persistent: false }, listener);
  return {
    get current() {
      return current;
    },
    async stop() {
      stopped = true;
      unwatchFile(path, listener);
      await reading;
    },
  };
}
