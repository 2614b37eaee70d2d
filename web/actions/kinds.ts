import type { Action, ActionKind } from "../../src/console/api.ts";
import type { IconName } from "../ui/icons.tsx";

/** What is known of the service when a form is opened. */
export interface Target {
  readonly service: string;
  readonly namespace: string;
  readonly versions: readonly string[];
  readonly weights: Readonly<Record<string, number>>;
  /** Services that call it. */
  readonly callers: readonly string[];
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "number" | "text" | "version" | "caller";
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly optional?: boolean;
  readonly hint?: string;
}

export interface Kind {
  readonly kind: ActionKind;
  readonly title: string;
  /** For who has not met the word: what happens to requests. */
  readonly about: string;
  readonly icon: IconName;
  /** Only for services with several versions. */
  readonly needsVersions?: boolean;
  readonly fields: readonly Field[];
  start(target: Target): Action;
}

const on = ({ service, namespace }: Target) => ({ service, namespace });
const last = (target: Target) => target.versions.at(-1) ?? "";

/** The actions on a service, in the order of the list. Shift has a form of its own. */
export const SERVICE_ACTIONS: readonly Kind[] = [
  {
    kind: "shift",
    title: "Shift versions",
    about: "Splits requests between versions by share.",
    icon: "sliders",
    needsVersions: true,
    fields: [],
    start: (target) => ({ kind: "shift", ...on(target), weights: target.weights }),
  },
  {
    kind: "ramp",
    title: "Ramp up a version",
    about: "Goes to a version step by step, and back by itself when its errors rise.",
    icon: "zap",
    needsVersions: true,
    fields: [
      { name: "to", label: "To version", type: "version" },
      { name: "stepMs", label: "Each step", type: "number", unit: "ms", min: 1000, step: 1000 },
      { name: "maxErrorShare", label: "Back above errors", type: "number", unit: "0–1", min: 0, max: 1, step: 0.01 },
      { name: "minRequests", label: "Requests to decide by", type: "number", min: 1, step: 1 },
    ],
    start: (target) => ({
      kind: "ramp",
      ...on(target),
      to: last(target),
      steps: [10, 25, 50, 100],
      stepMs: 30_000,
      maxErrorShare: 0.05,
      minRequests: 10,
    }),
  },
  {
    kind: "canary",
    title: "Canary by header",
    about: "Sends requests that carry a header to one version; all others go as before.",
    icon: "search",
    needsVersions: true,
    fields: [
      { name: "version", label: "Version", type: "version" },
      { name: "header", label: "Header", type: "text" },
      { name: "value", label: "Value", type: "text" },
    ],
    start: (target) => ({ kind: "canary", ...on(target), version: last(target), header: "x-canary", value: "1" }),
  },
  {
    kind: "delay",
    title: "Delay",
    about: "Callers' Envoys hold a share of requests back, as a slow service would.",
    icon: "clock",
    fields: [
      { name: "delayMs", label: "Delay", type: "number", unit: "ms", min: 1, step: 100 },
      { name: "percent", label: "Of requests", type: "number", unit: "%", min: 0, max: 100, step: 1 },
    ],
    start: (target) => ({ kind: "delay", ...on(target), delayMs: 500, percent: 50 }),
  },
  {
    kind: "abort",
    title: "Abort",
    about: "Callers' Envoys answer a share of requests with an error themselves.",
    icon: "alert",
    fields: [
      { name: "status", label: "Status", type: "number", min: 200, max: 599, step: 1 },
      { name: "percent", label: "Of requests", type: "number", unit: "%", min: 0, max: 100, step: 1 },
    ],
    start: (target) => ({ kind: "abort", ...on(target), status: 503, percent: 50 }),
  },
  {
    kind: "timeout",
    title: "Timeout",
    about: "Callers give up after this time.",
    icon: "clock",
    fields: [{ name: "timeoutMs", label: "Timeout", type: "number", unit: "ms", min: 1, step: 100 }],
    start: (target) => ({ kind: "timeout", ...on(target), timeoutMs: 2000 }),
  },
  {
    kind: "retries",
    title: "Retries",
    about: "Callers' Envoys ask again when a request fails.",
    icon: "refresh",
    fields: [
      { name: "attempts", label: "Attempts", type: "number", min: 0, max: 20, step: 1 },
      { name: "perTryTimeoutMs", label: "Each at most", type: "number", unit: "ms", min: 1, step: 100, optional: true },
      { name: "on", label: "When", type: "text", optional: true, hint: "5xx,connect-failure" },
    ],
    start: (target) => ({ kind: "retries", ...on(target), attempts: 3 }),
  },
  {
    kind: "circuit-breaker",
    title: "Circuit breaker",
    about: "Limits what callers may have under way, and leaves failing endpoints out for a while.",
    icon: "power",
    fields: [
      { name: "maxConnections", label: "Connections", type: "number", min: 1, step: 1, optional: true },
      { name: "maxPendingRequests", label: "Waiting requests", type: "number", min: 1, step: 1, optional: true },
      { name: "maxRequests", label: "Requests at once", type: "number", min: 1, step: 1, optional: true },
      { name: "consecutiveErrors", label: "Leave out after errors", type: "number", min: 1, step: 1, optional: true },
      { name: "ejectionMs", label: "For", type: "number", unit: "ms", min: 1000, step: 1000, optional: true },
    ],
    start: (target) => ({ kind: "circuit-breaker", ...on(target), consecutiveErrors: 5, ejectionMs: 30_000 }),
  },
  {
    kind: "strict-mtls",
    title: "Strict mutual TLS",
    about: "Its sidecars refuse callers without a certificate of the mesh.",
    icon: "lock",
    fields: [],
    start: (target) => ({ kind: "strict-mtls", ...on(target) }),
  },
  {
    kind: "deny",
    title: "Deny a caller",
    about: "Its sidecars answer 403 to one caller, known by its certificate.",
    icon: "close",
    fields: [{ name: "caller", label: "Caller", type: "caller", hint: "service or SPIFFE ID" }],
    start: (target) => ({ kind: "deny", ...on(target), caller: target.callers[0] ?? "" }),
  },
];

/** An action with one field changed; empty text takes an optional field away. */
export function withField(action: Action, field: Field, text: string): Action {
  const next: Record<string, unknown> = { ...action };
  if (text === "" && field.optional === true) delete next[field.name];
  else next[field.name] = field.type === "number" ? Number(text) : text;
  // The field comes from the table of the action's own kind.
  return next as unknown as Action;
}

/** `10, 25, 50, 100`: ascending shares. */
export function parseSteps(text: string): readonly number[] {
  return text
    .split(/[\s,]+/)
    .filter((word) => word !== "")
    .map(Number)
    .filter((step) => Number.isFinite(step));
}

export const DURATIONS: readonly { readonly label: string; readonly ms: number | undefined }[] = [
  { label: "until undone", ms: undefined },
  { label: "for 1 minute", ms: 60_000 },
  { label: "for 10 minutes", ms: 600_000 },
  { label: "for 1 hour", ms: 3_600_000 },
];
