import { readFile } from "node:fs/promises";
import type { Attributes } from "./metric-writer.ts";

/** What the environment says about the collector. */
export interface OtlpSettings {
  readonly protocol: OtlpProtocol;
  readonly endpoint: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Paths of PEM files, read for each export: they may be renewed. Empty: none. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly resource: Attributes;
}

export const OTLP_PROTOCOLS = ["grpc", "http/protobuf"] as const;
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number];

/** Carries the requests of one export, which is one document in pieces. */
export interface OtlpExporter extends AsyncDisposable {
  /** Rejects with an `OtlpError`, or with what kept the request from being made. */
  send(body: Buffer, signal: AbortSignal): Promise<void>;
}

export async function readTls({ caFile, certFile, keyFile }: OtlpSettings) {
  const read = (path: string) => readFile(path, "utf8");
  return {
    ...(caFile !== "" && { ca: await read(caFile) }),
    ...(certFile !== "" && { cert: await read(certFile) }),
    ...(keyFile !== "" && { key: await read(keyFile) }),
  };
}
