import { CodedError } from "../../base/coded-error.ts";

export class TargetError extends CodedError<"invalid-target"> {}

export type Target =
  | { readonly kind: "tcp"; readonly text: string; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly text: string; readonly path: string };

/** "host:port", "[::1]:port", "unix:relative/path", "unix:/absolute/path" or "unix:///absolute/path". */
export function parseTarget(text: string): Target {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path !== "") return { kind: "unix", text, path };
    throw invalid(text, "the path is empty");
  }
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(portText);
  if (host === undefined) throw invalid(text, "expected host:port, [address]:port or unix:path");
  if (port < 1 || port > 65_535) throw invalid(text, "the port is not in 1 to 65535");
  return { kind: "tcp", text, host, port };
}

function invalid(text: string, reason: string): TargetError {
  return new TargetError("invalid-target", `invalid gRPC target ${JSON.stringify(text)}: ${reason}`);
}
