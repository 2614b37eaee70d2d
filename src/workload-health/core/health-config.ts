import { CodedError } from "../../base/coded-error.ts";
import type { ReadinessProbe } from "../../istio-api/proxy-config/proxy-config.ts";
import { HEALTH_RULES, type HealthRules } from "./generations.ts";

export class HealthConfigError extends CodedError<"no-method" | "invalid-value"> {}

export type ProbeMethod =
  | {
      readonly kind: "http";
      readonly isTls: boolean;
      readonly host: string;
      readonly port: number;
      /** May hold a query. */
      readonly path: string;
      readonly headers: readonly { readonly name: string; readonly value: string }[];
    }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "exec"; readonly command: readonly [string, ...string[]] }
  | { readonly kind: "grpc"; readonly host: string; readonly port: number; readonly service: string };

export interface HealthCheckConfig {
  readonly initialDelayMs: number;
  readonly timeoutMs: number;
  readonly periodMs: number;
  readonly thresholds: { readonly success: number; readonly failure: number };
  readonly method: ProbeMethod;
}

const FIELD = "readinessProbe of the proxy configuration";
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Fills the defaults and throws a HealthConfigError that names what is wrong. */
export function readHealthConfig(
  probe: ReadinessProbe,
  defaultHost: string,
  rules: HealthRules = HEALTH_RULES.master,
): HealthCheckConfig {
  const seconds = (name: keyof ReadinessProbe & string, fallback: number) => {
    const value = probe[name];
    if (typeof value === "number" && value < 0) throw invalid(`${name} is ${value}, it must be non-negative`);
    return typeof value === "number" && value !== 0 ? value : fallback;
  };
  return {
    initialDelayMs: seconds("initialDelaySeconds", 0) * 1000,
    timeoutMs: seconds("timeoutSeconds", 1) * 1000,
    periodMs: seconds("periodSeconds", 10) * 1000,
    thresholds: { success: seconds("successThreshold", 1), failure: seconds("failureThreshold", 1) },
    method: readMethod(probe, defaultHost, rules),
  };
}

function readMethod(probe: ReadinessProbe, defaultHost: string, rules: HealthRules): ProbeMethod {
  const hostOf = (host: string | undefined, fallback = defaultHost) =>
    host === undefined || host === "" ? fallback : host;
  const otherHost = rules.onlyHttpHasDefaultHost ? "localhost" : defaultHost;
  if (probe.httpGet !== undefined) {
    const { host, port, path, scheme, httpHeaders = [] } = probe.httpGet;
    const protocol = (scheme === undefined || scheme === "" ? "HTTP" : scheme).toUpperCase();
    if (protocol !== "HTTP" && protocol !== "HTTPS")
      throw invalid(`httpGet.scheme is ${JSON.stringify(scheme)}, allowed are HTTP and HTTPS`);
    const headers = httpHeaders.map(({ name = "", value = "" }) => {
      if (!HEADER_NAME.test(name))
        throw invalid(`httpGet.httpHeaders has the name ${JSON.stringify(name)}, which is not a header name`);
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
        throw invalid(`httpGet.httpHeaders: the value of ${name} has characters that no header may have`);
      return { name, value };
    });
    const given = path === undefined || path === "" ? "/" : path;
    return {
      kind: "http",
      isTls: protocol === "HTTPS",
      host: hostOf(host),
      port: portOf(port, "httpGet"),
      path: given.startsWith("/") ? given : `/${given}`,
      headers,
    };
  }
  if (probe.tcpSocket !== undefined)
    return {
      kind: "tcp",
      host: hostOf(probe.tcpSocket.host, otherHost),
      port: portOf(probe.tcpSocket.port, "tcpSocket"),
    };
  if (probe.grpc !== undefined && rules.hasGrpc) {
    const { port, service = "" } = probe.grpc;
    return { kind: "grpc", host: hostOf(undefined), port: portOf(port, "grpc"), service };
  }
  if (probe.exec !== undefined) {
    const [program, ...args] = probe.exec.command ?? [];
    if (program === undefined || program === "") throw invalid("exec.command is empty");
    return { kind: "exec", command: [program, ...args] };
  }
  throw new HealthConfigError(
    "no-method",
    `${FIELD} has no method: one of httpGet, tcpSocket${rules.hasGrpc ? ", exec and grpc" : " and exec"} is needed`,
  );
}

function portOf(port: number | undefined, method: string): number {
  if (port !== undefined && Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw invalid(`${method}.port is ${port ?? "missing"}, allowed are 1 to 65535`);
}

function invalid(text: string): HealthConfigError {
  return new HealthConfigError("invalid-value", `${FIELD}: ${text}`);
}
