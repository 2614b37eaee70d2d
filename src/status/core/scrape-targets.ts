import { CodedError } from "../../base/coded-error.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { kindOf, member } from "./json-fields.ts";

export interface ScrapeTarget {
  readonly port: number;
  /** With its query, if any; begins with a slash. */
  readonly path: string;
}

export class ScrapeConfigError extends CodedError<"wrong-type" | "invalid-target"> {}

/** Ports of the mesh's own processes: scraping them would loop, or show what is merged already. */
const RESERVED_PORTS: ReadonlyMap<string, string> = new Map([
  ["15000", "Envoy admin"],
  ["15001", "outbound traffic capture"],
  ["15004", "pilot debug"],
  ["15006", "inbound traffic capture"],
  ["15008", "HBONE tunnel"],
  ["15020", "pilot-agent status / merged Prometheus"],
  ["15021", "Envoy health"],
  ["15053", "DNS proxy"],
  ["15090", "Envoy Prometheus (already merged)"],
]);
const PREFIX = "invalid prometheus scrape configuration: ";
const DEFAULT_PATH = "/metrics";

/** Why a port may not be scraped; undefined when it may. */
export function reservedPortReason(port: string): string | undefined {
  return RESERVED_PORTS.get(port);
}

export interface TargetRules {
  /** `targets` beside the one port and path. */
  readonly lists: boolean;
  /** `scrape: "false"` means no; before, to be configured at all meant yes. */
  readonly canBeOff: boolean;
  /** Ports of the mesh are refused; before, only the agent's own was. */
  readonly reservesPorts: boolean;
}

export const CURRENT_TARGETS: TargetRules = { lists: true, canBeOff: true, reservesPorts: true };

/** The decoded ISTIO_PROMETHEUS_ANNOTATIONS; an empty list when scraping is off. Throws a ScrapeConfigError. */
export function readScrapeTargets(
  value: unknown,
  statusPort: number,
  rules = CURRENT_TARGETS,
): readonly ScrapeTarget[] {
  if (value === undefined || value === null || !isJsonObject(value)) return [];
  const type = "PrometheusScrapeConfiguration";
  const text = (name: string) => stringMember(value, name, type);
  if (rules.canBeOff && text("scrape") === "false") return [];
  const [path, port] = [text("path"), text("port")];
  const listed = rules.lists ? listMember(value) : [];
  if (listed.length > 0) {
    return listed.map((target) => {
      const targetPath = stringMember(target, "path", "ScrapeTarget");
      return checkTarget(stringMember(target, "port", "ScrapeTarget"), targetPath, { statusPort, rules });
    });
  }
  const onlyPort = port === "" ? "80" : port;
  if (onlyPort === String(statusPort)) {
    throw new ScrapeConfigError(
      "invalid-target",
      `${PREFIX}application port is the same as agent port, which may lead to a recursive loop. Ensure pod does not have prometheus.io/port=${statusPort} label, or that injection is not happening multiple times`,
    );
  }
  return [checkTarget(onlyPort, path, { statusPort, rules })];
}

function checkTarget(
  port: string,
  path: string,
  { statusPort, rules }: { readonly statusPort: number; readonly rules: TargetRules },
): ScrapeTarget {
  const number = /^\+?\d+$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw invalid(`invalid target port ${JSON.stringify(port)}`);
  if (number === statusPort)
    throw invalid(`target port ${port} is the same as agent port, which may lead to a recursive loop`);
  const reason = rules.reservesPorts ? reservedPortReason(String(number)) : undefined;
  if (reason !== undefined)
    throw invalid(`target port ${port} is reserved for Istio (${reason}) and cannot be scraped`);
  const shown = path === "" ? DEFAULT_PATH : path;
  return { port: number, path: shown.startsWith("/") ? shown : `/${shown}` };
}

function invalid(text: string): ScrapeConfigError {
  return new ScrapeConfigError("invalid-target", PREFIX + text);
}

function stringMember(value: Readonly<Record<string, unknown>>, name: string, type: string): string {
  const found = member(value, name);
  if (found === undefined || found === null) return "";
  if (typeof found === "string") return found;
  throw wrongType(found, `${type}.${name}`, "string");
}

function listMember(value: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const found = member(value, "targets");
  if (found === undefined || found === null) return [];
  if (!Array.isArray(found)) throw wrongType(found, "PrometheusScrapeConfiguration.targets", "[]status.ScrapeTarget");
  return found.map((item: unknown) => {
    if (isJsonObject(item)) return item;
    throw wrongType(item, "PrometheusScrapeConfiguration.targets", "status.ScrapeTarget");
  });
}

function wrongType(value: unknown, field: string, type: string): ScrapeConfigError {
  return new ScrapeConfigError(
    "wrong-type",
    `failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: json: cannot unmarshal ${kindOf(value)} into Go struct field ${field} of type ${type}`,
  );
}
