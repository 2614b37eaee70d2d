import { CodedError } from "../base/coded-error.ts";

export type KubernetesErrorCode =
  /** A kubeconfig, or what it names, cannot be used. */
  | "invalid-config"
  /** A credential plugin or a token file gave nothing. */
  | "no-credentials"
  /** No connection, or it broke off. */
  | "unreachable"
  | "timeout"
  | "cancelled"
  | "bad-answer"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "conflict"
  | "already-exists"
  | "invalid"
  /** The resource version, or the continue token, is too old. */
  | "gone"
  /** The resource version is one that the server has not reached. */
  | "resource-version-too-large"
  | "too-many-requests"
  | "server-error";

export interface StatusDetails {
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly retryAfterMs?: number | undefined;
}

/** A request that failed. The message names verb and resource, and never carries headers or bodies that were sent. */
export class KubernetesError extends CodedError<KubernetesErrorCode> {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(code: KubernetesErrorCode, message: string, options: ErrorOptions & Partial<StatusDetails> = {}) {
    super(code, message, "cause" in options ? { cause: options.cause } : undefined);
    this.status = options.status ?? 0;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** What an API server answers instead of an object when something went wrong; also the object of a watch's ERROR event. */
interface StatusObject {
  readonly kind?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly details?: {
    readonly retryAfterSeconds?: unknown;
    readonly causes?: readonly { readonly reason?: unknown }[];
  };
}

const CODES: Readonly<Record<number, KubernetesErrorCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  410: "gone",
  422: "invalid",
  429: "too-many-requests",
};
const MAX_SHOWN = 1000;

/** `what` is verb and resource. The body may be a Status object, text of a proxy on the way, or nothing. */
export function statusError(what: string, status: number, body: unknown, retryAfter?: string): KubernetesError {
  const given = typeof body === "object" && body !== null ? (body as StatusObject) : {};
  const seconds = Number(retryAfter ?? given.details?.retryAfterSeconds ?? Number.NaN);
  const text = typeof given.message === "string" ? given.message : typeof body === "string" ? body.trim() : "";
  const reason = typeof given.reason === "string" ? ` ${given.reason}` : "";
  return new KubernetesError(
    codeOf(status, given),
    `cannot ${what}: ${status}${reason}${text === "" ? "" : `: ${text.slice(0, MAX_SHOWN)}`}`,
    { status, ...(seconds >= 0 && { retryAfterMs: seconds * 1000 }) },
  );
}

function codeOf(status: number, { reason, details }: StatusObject): KubernetesErrorCode {
  if (reason === "AlreadyExists") return "already-exists";
  if (reason === "Expired" || reason === "Gone") return "gone";
  const causes = Array.isArray(details?.causes) ? details.causes : [];
  if (causes.some((cause) => cause?.reason === "ResourceVersionTooLarge")) return "resource-version-too-large";
  return CODES[status] ?? "server-error";
}

const TRANSIENT = new Set<KubernetesErrorCode>(["unreachable", "timeout", "server-error", "too-many-requests"]);

/** Whether the same request may succeed a little later. */
export function isTransient(thrown: unknown): boolean {
  return thrown instanceof KubernetesError && TRANSIENT.has(thrown.code);
}
