import type { LogFields, LogLevel } from "../base/logger.ts";
import type { HostPort } from "../net/host-port.ts";
import type { PortMap } from "./port-owners.ts";
import type { ResolverConfig, ResolverSettings } from "./resolver.ts";

/** What a worker is born with. */
export interface ThreadData {
  readonly dnsThread: number;
  readonly settings: ResolverSettings;
  readonly ports: PortMap;
  /** One byte, 1 while debug lines are wanted: the level may change at any time. */
  readonly debug: Uint8Array;
}

export type ToThread =
  | { readonly type: "config"; readonly config: ResolverConfig }
  /** UDP sockets of the main thread, whose ports the worker shares. */
  | { readonly type: "addresses"; readonly addresses: readonly HostPort[] }
  /** An encoded name table; the next one is sent when this one is in force. */
  | { readonly type: "table"; readonly bytes: Uint8Array }
  | { readonly type: "stop" };

export type FromThread =
  | { readonly type: "table-applied" }
  | { readonly type: "serving" }
  | { readonly type: "metrics"; readonly report: MetricsReport }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields };

/** What happened since the last report. */
export interface MetricsReport {
  readonly requests: number;
  readonly upstreamRequests: number;
  readonly upstreamFailures: number;
  readonly upstreamSeconds: readonly number[];
}
