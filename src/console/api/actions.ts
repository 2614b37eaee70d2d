import type { Problem } from "./problems.ts";

/** What a user asks for. `service` is a short name or a host name; `namespace` is the session's unless given. */
export type Action =
  /** Versions and their shares; together 100. */
  | ({ readonly kind: "shift"; readonly weights: Readonly<Record<string, number>> } & OnService)
  /** From what is now to `to` in steps; returns to what was before when the error share of `to` rises above the limit. */
  | ({
      readonly kind: "ramp";
      readonly to: string;
      /** Shares in percent, ascending; [10, 25, 50, 100] when absent. */
      readonly steps?: readonly number[];
      /** 30000 when absent; 1000 at least. */
      readonly stepMs?: number;
      /** 0.05 when absent. */
      readonly maxErrorShare?: number;
      /** Fewer requests than this in a step decide nothing: the step goes on; 10 when absent. */
      readonly minRequests?: number;
    } & OnService)
  /** Requests with this header go to the version; all others as before. */
  | ({ readonly kind: "canary"; readonly version: string; readonly header: string; readonly value: string } & OnService)
  | ({ readonly kind: "delay"; readonly delayMs: number; readonly percent: number } & OnService)
  | ({ readonly kind: "abort"; readonly status: number; readonly percent: number } & OnService)
  | ({ readonly kind: "timeout"; readonly timeoutMs: number } & OnService)
  | ({
      readonly kind: "retries";
      readonly attempts: number;
      readonly perTryTimeoutMs?: number;
      readonly on?: string;
    } & OnService)
  | ({
      readonly kind: "circuit-breaker";
      readonly maxConnections?: number;
      readonly maxPendingRequests?: number;
      readonly maxRequests?: number;
      /** Ejects an endpoint after that many 5xx in a row. */
      readonly consecutiveErrors?: number;
      readonly ejectionMs?: number;
    } & OnService)
  /** Without a service: the whole namespace. */
  | { readonly kind: "strict-mtls"; readonly service?: string; readonly namespace?: string }
  /** `caller` is a service, or a SPIFFE ID. */
  | ({ readonly kind: "deny"; readonly caller: string } & OnService)
  | { readonly kind: "kill-envoy"; readonly workload: string }
  | { readonly kind: "stop-control-plane" }
  | { readonly kind: "start-control-plane" };

export type ActionKind = Action["kind"];

export interface OnService {
  readonly service: string;
  readonly namespace?: string;
}

export interface ActionRequest {
  readonly action: Action;
  /** Undone by itself after that time, also when the console was restarted meanwhile. 24 hours at most; absent: never. */
  readonly expiresInMs?: number;
}

/** What an action would write; nothing is changed. */
export interface ActionPreview {
  readonly action: Action;
  /** One sentence: `Sends 80% of reviews to v1 and 20% to v2`. */
  readonly text: string;
  readonly changes: readonly ObjectDifference[];
  /** What validation and analyze say of the result. Errors mean that applying is refused. */
  readonly problems: readonly Problem[];
  readonly canUndo: boolean;
}

export interface ObjectDifference {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** YAML; null where there is no object. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface ActionList {
  /** Those in force first, then those of the last hour, newest first. */
  readonly actions: readonly AppliedAction[];
}

export interface AppliedAction {
  readonly id: string;
  readonly action: Action;
  readonly text: string;
  readonly appliedAt: number;
  readonly expiresAt?: number;
  /**
   * `active`: in force, can be undone. `done`: nothing to undo (kill-envoy). `undone`: by the user. `expired`: by its time.
   * `returned`: a ramp that met errors. `superseded`: a later action or an edit has written the same objects. `failed`: could not be undone, see `reason`.
   */
  readonly state: "active" | "done" | "undone" | "expired" | "returned" | "superseded" | "failed";
  readonly endedAt?: number;
  /** Why it ended, or what keeps it from ending. */
  readonly reason?: string;
  readonly changes: readonly ObjectDifference[];
  readonly ramp?: RampState;
  readonly canUndo: boolean;
}

export interface RampState {
  readonly steps: readonly number[];
  /** Index into `steps`; equal to its length when all are done. */
  readonly step: number;
  readonly share: number;
  readonly nextAt?: number;
  /** Of the target, in this step. */
  readonly requests: number;
  readonly errorShare: number;
}
