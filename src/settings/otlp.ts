import { OTLP_PROTOCOLS, type OtlpProtocol, type OtlpSettings } from "../status/index.ts";
import { ConfigError } from "./config-error.ts";
import type { EnvReader } from "./env-reader.ts";

const ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES";

/** Undefined: nothing is pushed. Throws when what is said of the collector cannot be meant. */
export function readOtlpSettings(env: EnvReader): OtlpSettings | undefined {
  const target = readTarget(env);
  if (target === undefined) return undefined;
  const [certFile, keyFile] = [said(env, "CLIENT_CERTIFICATE"), said(env, "CLIENT_KEY")];
  if ((certFile.value === "") !== (keyFile.value === ""))
    throw wrong(
      certFile.value === "" ? keyFile.name.replace("KEY", "CERTIFICATE") : certFile.name.replace("CERTIFICATE", "KEY"),
      "",
      "a certificate and its key belong together",
      "paths of both files, or none",
    );
  const resource = new Map([
    ["service.name", env.string("ISTIO_META_WORKLOAD_NAME") || "unknown_service"],
    ...defined("service.namespace", env.string("POD_NAMESPACE")),
    ...defined("service.instance.id", env.string("POD_NAME")),
    ...defined("k8s.pod.name", env.string("POD_NAME")),
    ...defined("k8s.namespace.name", env.string("POD_NAMESPACE")),
    ...pairs(ATTRIBUTES, env.string(ATTRIBUTES)),
    ...defined("service.name", env.string("OTEL_SERVICE_NAME")),
  ]);
  const timeoutMs = env.isSet("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT")
    ? env.int("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT")
    : env.int("OTEL_EXPORTER_OTLP_TIMEOUT");
  const headers = said(env, "HEADERS");
  return {
    ...target,
    intervalMs: Math.max(1000, env.int("OTEL_METRIC_EXPORT_INTERVAL")),
    timeoutMs: Math.max(1, timeoutMs),
    headers: Object.fromEntries(pairs(headers.name, headers.value).map(([name, value]) => [name.toLowerCase(), value])),
    caFile: said(env, "CERTIFICATE").value,
    certFile: certFile.value,
    keyFile: keyFile.value,
    resource: [...resource],
  };
}

type Setting = "ENDPOINT" | "PROTOCOL" | "HEADERS" | "CERTIFICATE" | "CLIENT_CERTIFICATE" | "CLIENT_KEY";

/** The variable for metrics, or else the one for all signals; the name is that of the one that counts. */
function said(env: EnvReader, setting: Setting): { readonly name: string; readonly value: string } {
  const own = `OTEL_EXPORTER_OTLP_METRICS_${setting}` as const;
  const general = `OTEL_EXPORTER_OTLP_${setting}` as const;
  const value = env.string(own);
  return value === "" ? { name: general, value: env.string(general) } : { name: own, value };
}

/** Of an endpoint for all signals alone, which applications read too, nothing follows unless metrics are asked for. */
function readTarget(env: EnvReader): Pick<OtlpSettings, "protocol" | "endpoint"> | undefined {
  const exporters = env.string("OTEL_METRICS_EXPORTER");
  if (exporters === "none") return undefined;
  const isAsked = exporters.split(",").some((name) => name.trim() === "otlp");
  if (env.string("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") === "" && !isAsked) return undefined;
  const protocol = readProtocol(env);
  const isGrpc = protocol === "grpc";
  const { name, value } = said(env, "ENDPOINT");
  const endpoint = value || (isGrpc ? "http://localhost:4317" : "http://localhost:4318");
  const allowed = isGrpc ? ["http://HOST:PORT", "https://HOST:PORT"] : ["http://HOST:PORT/v1/metrics", "https://..."];
  if (!/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ""))
    throw wrong(name, endpoint, "it is not a URL", allowed.join(" or "));
  if (isGrpc && new URL(endpoint).pathname !== "/")
    throw wrong(name, endpoint, "gRPC has no path", `${allowed.join(" or ")}, or the protocol http/protobuf`);
  // An endpoint for all signals is the root of theirs over HTTP.
  if (isGrpc || name.includes("METRICS")) return { protocol, endpoint };
  return { protocol, endpoint: `${endpoint.replace(/\/+$/, "")}/v1/metrics` };
}

function readProtocol(env: EnvReader): OtlpProtocol {
  const { name, value } = said(env, "PROTOCOL");
  const known = OTLP_PROTOCOLS.find((each) => each === value);
  if (known === undefined) throw wrong(name, value, "the agent does not speak it", OTLP_PROTOCOLS.join(" or "));
  return known;
}

function defined(name: string, value: string): readonly (readonly [string, string])[] {
  return value === "" ? [] : [[name, value]];
}

/** `a=b,c=d`, values percent-encoded, as the OpenTelemetry specification writes lists. */
function pairs(variable: string, text: string): readonly (readonly [string, string])[] {
  return text
    .split(",")
    .filter((item) => item.trim() !== "")
    .map((item) => {
      const at = item.indexOf("=");
      const name = item.slice(0, at).trim();
      if (at < 0 || name === "") throw wrong(variable, text, "an item is no pair", "name=value,name=value");
      return [name, decoded(item.slice(at + 1).trim())];
    });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Headers may be secrets: the whole of a wrong list is not shown. */
function wrong(variable: string, value: string, message: string, allowed: string): ConfigError {
  const isSecret = variable.endsWith("_HEADERS");
  const shown = isSecret ? "" : ` (value ${JSON.stringify(value)})`;
  return new ConfigError("invalid-status-options", `${variable}: ${message}${shown}; allowed: ${allowed}`, [
    {
      source: `environment variable ${variable}`,
      message,
      allowed,
      ...(!isSecret && { value }),
    },
  ]);
}
