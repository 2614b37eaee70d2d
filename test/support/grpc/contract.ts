import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The service of the contract suite, implemented on our layer and on grpc-js with the same behaviour. */
export const PATHS = {
  unary: "/contract.Test/Unary",
  clientStream: "/contract.Test/ClientStream",
  serverStream: "/contract.Test/ServerStream",
  bidi: "/contract.Test/Bidi",
} as const;

/** What unary and server-streaming requests ask for, as JSON. Both echo the request's `x-` metadata in headers and trailers. */
export interface Command {
  readonly status?: number;
  readonly message?: string;
  /** Bytes of each response. */
  readonly size?: number;
  /** Number of responses. */
  readonly count?: number;
  /** Never answers; ends only by deadline or cancellation. */
  readonly hang?: boolean;
}

/** Texts that steer the streaming methods; all others are echoed by Bidi and counted by ClientStream. */
export const BIDI_END = "end now";
export const BIDI_FAIL = "fail now";
export const STREAM_REFUSE = "refuse now";

export type Entries = readonly (readonly [string, string | Buffer])[];

export interface ContractOptions {
  readonly metadata?: Entries;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ContractAnswer {
  readonly response: Buffer;
  readonly headers: Entries;
  readonly trailers: Entries;
}

export interface ContractBidi {
  write(message: Buffer): Promise<void>;
  end(): void;
  cancel(): void;
  readonly responses: AsyncIterator<Buffer>;
}

/** Failures are thrown as ContractFailure, regardless of the library. */
export interface ContractClient {
  unary(request: Buffer, options?: ContractOptions): Promise<ContractAnswer>;
  serverStream(request: Buffer, options?: ContractOptions): Promise<AsyncIterable<Buffer>>;
  clientStream(
    requests: readonly Buffer[],
    options?: ContractOptions & { readonly leaveOpen?: boolean },
  ): Promise<Buffer>;
  bidi(options?: ContractOptions): Promise<ContractBidi>;
  stop(): Promise<void>;
}

export interface ContractServer {
  /** For clients: "127.0.0.1:1234" or "unix:/path". */
  readonly target: string;
  /** How calls ended that the peer or a deadline broke off. */
  readonly cancelled: readonly string[];
  stop(): Promise<void>;
}

export const TRANSPORTS = ["tcp", "tls", "unix"] as const;
export type Transport = (typeof TRANSPORTS)[number];

export class ContractFailure extends Error {
  readonly code: number;
  readonly trailers: Entries;

  constructor(code: number, message: string, trailers: Entries = []) {
    super(message);
    this.code = code;
    this.trailers = trailers;
  }
}

export function command(value: Command): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function parseCommand(bytes: Buffer): Command {
  return bytes.length === 0 ? {} : (JSON.parse(bytes.toString("utf8")) as Command);
}

export function responseOf({ size }: Command, request: Buffer): Buffer {
  return size === undefined ? request : Buffer.alloc(size, 0x61);
}

/** A folder for socket files, short enough for their length limit. */
export function socketFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "grpc-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
