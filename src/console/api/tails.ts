/** `?part=app|agent` (the agent's has Envoy's lines in it), `?tail=` lines to begin with (200, 2000 at most). */
export interface LogEvents {
  readonly lines: LogLines;
}

export interface LogLines {
  readonly lines: readonly string[];
  /** Lines that this reader was too slow for. */
  readonly dropped: number;
}

export interface LogLevels {
  /** Envoy's loggers: `upstream` -> `warning`. */
  readonly levels: Readonly<Record<string, string>>;
  /** What a level may be, quietest last. */
  readonly known: readonly string[];
}

/** Without a logger: all of them. */
export interface LogLevelChange {
  readonly logger?: string;
  readonly level: string;
}

/**
 * `GET /api/requests?workload=ID` shows the requests that pass through a workload's Envoy; `&direction=inbound|outbound` one side,
 * `&to=SERVICE` (short name or host, with `:VERSION` for one version) one edge. Without `workload`: all workloads, inbound.
 * At most 50 requests a second are shown; the others are counted.
 */
export interface RequestEvents {
  readonly requests: RequestBatch;
}

export interface RequestBatch {
  readonly requests: readonly RequestLine[];
  /** Requests that were seen and left out, by the limit or because the reader was slow. */
  readonly skipped: number;
}

export interface RequestLine {
  readonly at: number;
  readonly workload: string;
  readonly direction: "inbound" | "outbound" | "unknown";
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  /** 0 when there was none. */
  readonly status: number;
  /** `UF,URX` as Envoy has it; empty when nothing went wrong. */
  readonly flags: string;
  /** The same for people: `upstream connection failed; retries were used up`. */
  readonly flagText: string;
  readonly details?: string;
  readonly durationMs: number;
  readonly upstreamMs?: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly host: string;
  /** Short name of the service called, and the version where the route named one. */
  readonly service?: string;
  readonly version?: string;
  readonly upstreamAddress?: string;
  readonly downstreamAddress?: string;
  /** The caller's SPIFFE ID, or the workload at that address; absent for a stranger. */
  readonly caller?: string;
  readonly requestId?: string;
}
