import { CodedError, errorMessage } from "../base/coded-error.ts";
import { GRPC_STATUS_NAMES, type GrpcStatusName } from "../protocol/grpc-status-names.ts";
import { Metadata } from "./metadata.ts";

export interface GrpcErrorOptions extends ErrorOptions {
  /** Trailing metadata: what the peer sent, or what the handler wants to send with the status. */
  readonly metadata?: Metadata;
}

/** A call that ended with a status other than OK. Thrown by clients; thrown by handlers, it becomes the call's status. */
export class GrpcError extends CodedError<GrpcStatusName> {
  readonly metadata: Metadata;

  constructor(code: GrpcStatusName, message: string, options: GrpcErrorOptions = {}) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.metadata = options.metadata ?? new Metadata();
  }

  get status(): number {
    return statusNumber(this.code);
  }

  /** The serialized google.rpc.Status that rich errors carry. */
  get statusDetails(): Buffer | undefined {
    return this.metadata.getBinary("grpc-status-details-bin");
  }
}

/** What travels up to a caller is always a GrpcError; anything else that was thrown becomes its cause. */
export function toGrpcError(failure: unknown): GrpcError {
  return failure instanceof GrpcError ? failure : new GrpcError("INTERNAL", errorMessage(failure), { cause: failure });
}

export function statusNumber(name: GrpcStatusName): number {
  return GRPC_STATUS_NAMES.indexOf(name);
}

/** A status number as text from the wire; any other than the known numbers means UNKNOWN. */
export function statusName(text: string): GrpcStatusName {
  return /^\d{1,2}$/.test(text) ? (GRPC_STATUS_NAMES[Number(text)] ?? "UNKNOWN") : "UNKNOWN";
}

/** The one-line form that operators of Go services know: "rpc error: code = Unavailable desc = ...". */
export function rpcErrorText(thrown: unknown): string {
  if (!(thrown instanceof GrpcError)) return errorMessage(thrown);
  return `rpc error: code = ${goStatusName(thrown.code)} desc = ${thrown.message}`;
}

/** "Internal", "InvalidArgument": the spelling that operators know from Go services, of a name or of a number from the wire. */
export function goStatusName(status: GrpcStatusName | number): string {
  const name = typeof status === "number" ? GRPC_STATUS_NAMES[status] : status;
  if (name === undefined) return `Code(${status})`;
  if (name === "OK") return name;
  if (name === "CANCELLED") return "Canceled"; // Go spells it with one l
  return name.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}
