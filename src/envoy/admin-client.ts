import { errorMessage } from "../base/coded-error.ts";
import { joinHostPort } from "../net/host-port.ts";
import type { AdminAnswer, AdminLimits } from "./admin-request.ts";
import { AdminError } from "./errors.ts";

/** Envoy's admin interface on this machine. Every call has a time and a size limit and rejects with an `AdminError`. */
export interface AdminClient {
  /** `host:port`, brackets around IPv6. */
  readonly authority: string;
  /** Text lines `name: value`; `query` goes verbatim behind the question mark. */
  stats(query?: string, timeoutMs?: number): Promise<string>;
  ready(): Promise<{ readonly isLive: boolean; readonly state: string }>;
  serverInfo(): Promise<ServerInfo>;
  /** The dump's JSON text: callers that only pass it on need no second copy of tens of megabytes. */
  configDump(query?: string): Promise<string>;
  drainListeners(options: DrainOptions): Promise<string>;
  quit(): Promise<void>;
  /** Any other path. */
  fetch(method: "GET" | "POST", path: string, limits?: AdminLimits): Promise<AdminAnswer>;
}

export interface ServerInfo {
  readonly state: string;
  readonly version: string;
  readonly restartEpoch: number;
}

export interface DrainOptions {
  readonly inboundOnly: boolean;
  readonly graceful: boolean;
  /** Keeps the listeners open after the drain period. */
  readonly skipExit?: boolean;
  readonly timeoutMs?: number;
}

export interface AdminAddress {
  /** An address, never a name: `localhost` may resolve to the family Envoy does not listen on. */
  readonly host: "127.0.0.1" | "::1";
  readonly port: number;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULT_LIMITS = { timeoutMs: 3_000, maxBytes: 64 * MEBIBYTE };

export function createAdminClient(address: AdminAddress): AdminClient {
  const authority = joinHostPort(address.host, address.port);
  const fetch = async (method: "GET" | "POST", path: string, limits: AdminLimits = {}) => {
    // Not loaded before Envoy is there to be asked.
    const { adminRequest } = await import("./admin-request.ts");
    return adminRequest({ authority, method, path }, { ...DEFAULT_LIMITS, ...limits });
  };
  const fetchOk = async (method: "GET" | "POST", path: string, limits?: AdminLimits) => {
    const answer = await fetch(method, path, limits);
    if (answer.status !== 200) throw new AdminError("unexpected-status", `unexpected status ${answer.status}`);
    return answer.body;
  };
  return {
    authority,
    fetch,
    stats: (query = "usedonly", timeoutMs = 2_000) => fetchOk("GET", `/stats?${query}`, { timeoutMs }),
    ready: async () => {
      const answer = await fetch("GET", "/ready", { timeoutMs: 1_000, maxBytes: 1024 });
      return { isLive: answer.status === 200, state: answer.body.trim() };
    },
    serverInfo: async () => parseServerInfo(await fetchOk("GET", "/server_info", { maxBytes: 16 * MEBIBYTE })),
    configDump: (query = "") =>
      fetchOk("GET", `/config_dump${query === "" ? "" : `?${query}`}`, { timeoutMs: 30_000, maxBytes: 512 * MEBIBYTE }),
    drainListeners: async (options) => {
      const answer = await fetch("POST", drainPath(options), { timeoutMs: options.timeoutMs ?? 3_000 });
      return answer.body;
    },
    quit: async () => void (await fetchOk("POST", "/quitquitquit")),
  };
}

export function drainPath(options: DrainOptions): string {
  const query = [
    ...(options.inboundOnly ? ["inboundonly"] : []),
    ...(options.graceful ? ["graceful"] : []),
    ...(options.skipExit ? ["skip_exit"] : []),
  ].join("&");
  return `/drain_listeners${query === "" ? "" : `?${query}`}`;
}

function parseServerInfo(text: string): ServerInfo {
  try {
    const info = JSON.parse(text) as {
      state?: string;
      version?: string;
      command_line_options?: { restart_epoch?: number };
    };
    return {
      state: info.state ?? "UNKNOWN",
      version: info.version ?? "",
      restartEpoch: info.command_line_options?.restart_epoch ?? 0,
    };
  } catch (thrown) {
    throw new AdminError("bad-answer", `Envoy's server_info is not JSON: ${errorMessage(thrown)}`, { cause: thrown });
  }
}
