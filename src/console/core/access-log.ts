import { parseClusterName } from "../../envoy-config/index.ts";
import type { RequestLine } from "../api.ts";

/** The default text format of sidecars, and behind it whom the caller's certificate names; the words between quotes may hold spaces. */
const LINE =
  /^\[([^\]]+)\] "(\S*) (.*?) (\S*)" (\d+) (\S+) (\S+) (\S+) "([^"]*)" (\d+) (\d+) (\d+) (\S+) "([^"]*)" "([^"]*)" "([^"]*)" "([^"]*)" "([^"]*)" (\S+) (\S+) (\S+) (\S+) (\S+) (\S+)(?: "(spiffe:[^",]+)[^"]*")?/;

/** Response flags of Envoy in words. */
const FLAGS: Readonly<Record<string, string>> = {
  UH: "no healthy endpoint",
  UF: "the connection to the endpoint failed",
  UO: "a circuit breaker refused it",
  NR: "no route fits",
  URX: "retries were used up",
  NC: "the cluster does not exist",
  DT: "the request took longer than allowed",
  DC: "the caller went away",
  LH: "a local health check failed",
  UT: "the timeout was reached",
  LR: "the connection was reset here",
  UR: "the endpoint reset the connection",
  UC: "the endpoint closed the connection",
  DI: "delayed by a fault rule",
  FI: "answered by a fault rule",
  RL: "rate limited",
  UAEX: "the authorization service refused it",
  RLSE: "the rate limit service failed",
  IH: "a header has a value that is not allowed",
  SI: "the stream was idle for too long",
  DPE: "the caller broke the protocol",
  UPE: "the endpoint broke the protocol",
  UMSDR: "the endpoint reached its maximum time",
  OM: "Envoy is out of memory",
  DF: "the name could not be resolved",
  DO: "Envoy is overloaded",
  DR: "the caller reset the stream",
  NFCF: "a filter's configuration is missing",
};

/** One request of an access log; undefined for other lines. */
export function parseAccessLog(line: string, workload: string): RequestLine | undefined {
  const match = LINE.exec(line);
  if (match === null) return undefined;
  const [
    ,
    time = "",
    method = "",
    path = "",
    protocol = "",
    status = "",
    flags = "",
    details = "",
    ,
    ,
    received = "",
    sent = "",
    duration = "",
  ] = match;
  const [
    upstreamMs = "",
    ,
    ,
    requestId = "",
    host = "",
    upstreamAddress = "",
    cluster = "",
    ,
    ,
    downstream = "",
    ,
    ,
    caller = "-",
  ] = match.slice(13);
  const name = parseClusterName(cluster);
  const shown = flags === "-" ? "" : flags;
  return {
    at: Date.parse(time) || 0,
    workload,
    direction: name?.direction ?? (/^Inbound/.test(cluster) ? "inbound" : cluster === "-" ? "unknown" : "outbound"),
    method: method === "-" ? "" : method,
    path: path === "-" ? "" : path,
    protocol: protocol === "-" ? "TCP" : protocol,
    status: Number(status),
    flags: shown,
    flagText: shown
      .split(",")
      .flatMap((flag) => (flag === "" ? [] : [FLAGS[flag] ?? flag]))
      .join("; "),
    ...optional("details", details === "via_upstream" ? "-" : details),
    durationMs: Number(duration),
    ...(/^\d+$/.test(upstreamMs) ? { upstreamMs: Number(upstreamMs) } : {}),
    sentBytes: Number(sent),
    receivedBytes: Number(received),
    host: host === "-" ? "" : host,
    ...optional("service", name?.host === undefined || name.host === "" ? "-" : (name.host.split(".")[0] ?? "-")),
    ...optional("version", name?.subset || "-"),
    ...optional("upstreamAddress", upstreamAddress),
    ...optional("downstreamAddress", downstream),
    ...optional("caller", caller),
    ...optional("requestId", requestId),
  };
}

function optional<Name extends string>(name: Name, value: string): { readonly [Member in Name]?: string } {
  return (value === "-" || value === "" ? {} : { [name]: value }) as { readonly [Member in Name]?: string };
}

/** Enough to follow by eye; a busy mesh has thousands. */
const MAX_PER_SECOND = 50;

export interface Sampled {
  readonly shown: readonly RequestLine[];
  readonly skipped: number;
}

/** Of each second the first ones are shown and all are counted. */
export class RequestSampler {
  #second = 0;
  #shown = 0;

  take(requests: readonly RequestLine[], now: number): Sampled {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) [this.#second, this.#shown] = [second, 0];
    const shown = requests.slice(0, Math.max(0, MAX_PER_SECOND - this.#shown));
    this.#shown += shown.length;
    return { shown, skipped: requests.length - shown.length };
  }
}

export interface RequestFilter {
  readonly direction: string;
  /** Short name or host, `:VERSION` for one version. */
  readonly to: string;
}

export function passes({ direction, service, version, host }: RequestLine, filter: RequestFilter): boolean {
  if (filter.direction !== "" && direction !== filter.direction) return false;
  if (filter.to === "") return true;
  const [wanted = "", wantedVersion] = filter.to.split(":");
  const names = [service, host.split(":")[0], host.split(":")[0]?.split(".")[0]];
  return names.includes(wanted.split(".")[0]) && (wantedVersion === undefined || version === wantedVersion);
}
