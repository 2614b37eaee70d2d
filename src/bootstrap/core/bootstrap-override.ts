import { parse } from "yaml";
import { compareText } from "../../protocol/go-text.ts";
import { shallowYaml } from "../../protocol/yaml-depth.ts";
import { ipFamily } from "./ip-family.ts";
import { sortKeys, toStrictJson } from "./json.ts";

const PLACEHOLDER = "$(HOST_IP)";

/**
 * A user's override file (YAML or JSON) as the compact JSON that Envoy merges over the bootstrap (`--config-yaml`). `$(HOST_IP)` becomes
 * the host's address, an IPv6 one in brackets, which are not doubled. Throws what the YAML parser throws.
 */
export function convertBootstrapOverride(text: string, hostIp: string): string {
  const value: unknown = parse(shallowYaml(substituteHostIp(text, hostIp)), { version: "1.1", maxAliasCount: 100 });
  return toStrictJson(sortKeys(value ?? null, compareText));
}

function substituteHostIp(text: string, hostIp: string): string {
  if (ipFamily(hostIp) !== 6) return text.replaceAll(PLACEHOLDER, hostIp);
  const bracketed = `[${hostIp}]`;
  return text.replaceAll(`[${PLACEHOLDER}]`, bracketed).replaceAll(PLACEHOLDER, bracketed);
}
