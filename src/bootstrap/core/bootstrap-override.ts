import { compareText } from "../../base/go-text.ts";
import { composeYaml } from "../../files/yaml/compose-yaml.ts";
import { yamlProblemText } from "../../files/yaml/yaml-problem-text.ts";
import { GO_YAML } from "../../files/yaml/yaml-profiles.ts";
import { isIP } from "../../net/ip.ts";
import { sortKeys, toStrictJson } from "./json.ts";

const PLACEHOLDER = "$(HOST_IP)";

/**
 * A user's override file (YAML or JSON) as the compact JSON that Envoy merges over the bootstrap (`--config-yaml`). `$(HOST_IP)` becomes
 * the host's address, an IPv6 one in brackets, which are not doubled. Only the first document counts. Throws with the
 * reason as the reference words it.
 */
export function convertBootstrapOverride(text: string, hostIp: string): string {
  const composed = composeYaml(substituteHostIp(text, hostIp), GO_YAML);
  if ("problem" in composed) throw new Error(yamlProblemText(composed.problem));
  const json = toStrictJson(sortKeys(composed.data, compareText));
  // As the command line has always had it; the same text to every reader of JSON.
  return json.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function substituteHostIp(text: string, hostIp: string): string {
  if (isIP(hostIp) !== 6) return text.replaceAll(PLACEHOLDER, hostIp);
  const bracketed = `[${hostIp}]`;
  return text.replaceAll(`[${PLACEHOLDER}]`, bracketed).replaceAll(PLACEHOLDER, bracketed);
}
