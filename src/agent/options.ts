import type { Handle } from "../base/handle.ts";
import type { Log } from "../base/log/log.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";

export interface StartAgentOptions {
  readonly config: AgentConfig;
  /** The process environment: Envoy inherits it, and node metadata is made of it. */
  readonly env: Environment;
  readonly log: Log;
  /** For the start-up time shown when Envoy first gets ready. */
  readonly uptimeMs: () => number;
  /** The words this process was started with, for its status page; empty when absent. */
  readonly commandLine?: readonly string[];
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
}

/** A running agent. `ended` settles when it has to end by itself: Envoy gave up, a quit was requested, or a part failed for good. */
export interface Agent extends Handle {
  /** Undefined without a status server. */
  readonly statusPort: number | undefined;
  /** Not ready from now on; drains and ends Envoy. A second call cuts the drain short. */
  terminate(cause: string): Promise<void>;
  /** Hot restart, where the mode is on. */
  reload(reason: string): void;
}
