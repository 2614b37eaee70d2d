import { CodedError } from "../../base/coded-error.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { kindOf, member } from "./json-fields.ts";

/** One application probe that the kubelet asks the agent for. Ports are not checked here: port 0 fails each probe. */
export type AppProber = {
  /** 0: no limit of its own. */
  readonly timeoutMs: number;
} & (
  | {
      readonly kind: "http";
      readonly port: number;
      readonly path: string;
      readonly isTls: boolean;
      readonly headers: readonly HttpHeader[];
    }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "grpc"; readonly port: number; readonly service: string }
);

export interface HttpHeader {
  readonly name: string;
  readonly value: string;
}

export class AppProberError extends CodedError<"wrong-type" | "invalid-path" | "invalid-type" | "invalid-port"> {}

export interface ProberRules {
  readonly pathPattern: RegExp;
  /** What error messages call a path, and how they spell the pattern. */
  readonly pathWord: "path" | "key";
  readonly patternText: string;
  readonly kinds: readonly ("httpGet" | "tcpSocket" | "grpc")[];
}

type Json = Readonly<Record<string, unknown>>;

/** The decoded ISTIO_KUBE_APP_PROBERS by URL path. Throws an AppProberError that names the probe and the field. */
export function readAppProbers(value: Json, rules: ProberRules): ReadonlyMap<string, AppProber> {
  return new Map(Object.entries(value).map(([path, prober]) => [path, readProber(path, prober, rules)]));
}

function readProber(path: string, value: unknown, rules: ProberRules): AppProber {
  if (!rules.pathPattern.test(path)) {
    const what = `invalid ${rules.pathWord}, must be in form of regex pattern ${rules.patternText}`;
    throw new AppProberError("invalid-path", `${what}: ${JSON.stringify(path)}`);
  }
  if (!isJsonObject(value)) throw wrongType(value, path, "status.Prober");
  const actions = rules.kinds.flatMap((kind) => {
    const action = member(value, kind);
    if (action === undefined || action === null) return [];
    if (!isJsonObject(action)) throw wrongType(action, `${path}.${kind}`, "object");
    return [{ kind, action }];
  });
  const [only, ...more] = actions;
  if (only === undefined || more.length > 0) {
    const names = rules.kinds.length === 1 ? "of type httpGet" : "one of type httpGet, tcpSocket or gRPC";
    throw new AppProberError("invalid-type", `invalid prober type, must be ${names}: ${path}`);
  }
  const timeoutMs = integer(value, "timeoutSeconds", path) * 1000;
  return { timeoutMs, ...readAction(path, only.kind, only.action) };
}

function readAction(path: string, kind: ProberRules["kinds"][number], action: Json) {
  if (kind === "grpc") {
    const port = integer(action, "port", `${path}.grpc`);
    return { kind, port, service: text(action, "service", `${path}.grpc`) } as const;
  }
  const port = member(action, "port");
  if (typeof port === "string") {
    const what = `invalid prober config for ${path}, the port must be int type`;
    throw new AppProberError("invalid-port", `${what}: ${JSON.stringify(port)}`);
  }
  if (kind === "tcpSocket") return { kind: "tcp", port: integer(action, "port", `${path}.tcpSocket`) } as const;
  const field = `${path}.httpGet`;
  return {
    kind: "http",
    port: integer(action, "port", field),
    path: text(action, "path", field),
    // Other spellings are plain HTTP, as the reference has it.
    isTls: text(action, "scheme", field) === "HTTPS",
    headers: readHeaders(action, field),
  } as const;
}

function readHeaders(action: Json, field: string): readonly HttpHeader[] {
  const headers = member(action, "httpHeaders") ?? [];
  if (!Array.isArray(headers)) throw wrongType(headers, `${field}.httpHeaders`, "[]v1.HTTPHeader");
  return headers.map((header: unknown, index) => {
    const name = `${field}.httpHeaders[${index}]`;
    if (!isJsonObject(header)) throw wrongType(header, name, "v1.HTTPHeader");
    return { name: text(header, "name", name), value: text(header, "value", name) };
  });
}

function text(value: Json, name: string, field: string): string {
  const found = member(value, name) ?? "";
  if (typeof found !== "string") throw wrongType(found, `${field}.${name}`, "string");
  return found;
}

function integer(value: Json, name: string, field: string): number {
  const found = member(value, name) ?? 0;
  if (typeof found !== "number" || !Number.isInteger(found)) throw wrongType(found, `${field}.${name}`, "int32");
  return found;
}

function wrongType(value: unknown, field: string, type: string): AppProberError {
  return new AppProberError(
    "wrong-type",
    `json: cannot unmarshal ${kindOf(value)} into Go struct field ${field} of type ${type}`,
  );
}
