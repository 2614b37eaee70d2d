import { parseAllDocuments } from "yaml";
import { compareText } from "../../base/go-text.ts";
import { shallowYaml } from "../../files/yaml/yaml-depth.ts";
import { yamlProblemText } from "../../files/yaml/yaml-problem-text.ts";
import { GO_YAML } from "../../files/yaml/yaml-profiles.ts";
import { isIP } from "../../net/ip.ts";
import { sortKeys, toStrictJson } from "./json.ts";

/** Envoy's 64-bit fields take more than a double holds. */
const EXACT = { ...GO_YAML, intAsBigInt: true };
const PLACEHOLDER = "$(HOST_IP)";

/**
 * A user's override file (YAML or JSON) as the compact JSON that Envoy merges over the bootstrap (`--config-yaml`). `$(HOST_IP)` becomes
 * the host's address, an IPv6 one in brackets, which are not doubled. Only the first document counts. Throws with the
 * reason as the reference words it.
 */
export function convertBootstrapOverride(text: string, hostIp: string): string {
  const documents = parseAllDocuments(shallowYaml(substituteHostIp(text, hostIp)), EXACT);
  const [document] = Array.isArray(documents) ? documents : [];
  const [problem] = document?.errors ?? [];
  if (problem !== undefined) throw new Error(yamlProblemText(problem), { cause: problem });
  const value: unknown = document?.toJS({ maxAliasCount: 100 });
  const json = toStrictJson(sortKeys(value ?? null, compareText));
  // As the command line has always had it; the same text to every reader of JSON.
  return json.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function substituteHostIp(text: string, hostIp: string): string {
  if (isIP(hostIp) !== 6) return text.replaceAll(PLACEHOLDER, hostIp);
  const bracketed = `[${hostIp}]`;
  return text.replaceAll(`[${PLACEHOLDER}]`, bracketed).replaceAll(PLACEHOLDER, bracketed);
}
