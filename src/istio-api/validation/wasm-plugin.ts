import type { WasmPluginSpec } from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { validateTargetRefs } from "./target-ref.ts";

const SCHEMES = ["file", "http", "https", "oci"];
const MAX_SECRET_LENGTH = 253;

/** A module that proxies run, and where. */
export function validateWasmPlugin(report: Report, spec: WasmPluginSpec): void {
  validateSelector(report.at("selector", "matchLabels"), spec.selector?.matchLabels ?? {});
  validateTargetRefs(report, spec);
  report.error(urlReason(spec.url), "url");
  if (spec.sha256 !== "" && !/^[a-f0-9]{64}$/.test(spec.sha256))
    report.error("sha256 field must match [a-f0-9]{64} pattern", "sha256");
  if (spec.imagePullSecret.length > MAX_SECRET_LENGTH)
    report.error(`imagePullSecret field must be less than ${MAX_SECRET_LENGTH} characters long`, "imagePullSecret");
  const names = new Set<string>();
  each(report.at("vmConfig"), "env", spec.vmConfig?.env ?? [], (at, { name, valueFrom, value }) => {
    at.error(name === "" ? "name of an env variable must not be empty" : undefined, "name");
    at.error(names.has(name) ? `duplicate env variable ${name}` : undefined, "name");
    names.add(name);
    if (valueFrom === "HOST" && value !== "") at.error("value may only be set when valueFrom is INLINE", "value");
  });
  each(report, "match", spec.match, (at, { ports }) => {
    each(at, "ports", ports, (port, { number }) => port.error(portProblem(number), "number"));
  });
}

function urlReason(url: string): string | undefined {
  if (url === "") return "url field needs to be set";
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url) ?? [];
  if (scheme !== undefined && !SCHEMES.includes(scheme.toLowerCase()))
    return `url contains unsupported scheme: ${scheme}; allowed: ${SCHEMES.join(", ")}`;
  return URL.canParse(scheme === undefined ? `oci://${url}` : url) ? undefined : `failed to parse url ${url}`;
}
