import { exactInteger } from "../json/exact-json.ts";
import { composeYaml } from "./compose-yaml.ts";
import { YamlError } from "./yaml-error.ts";
import { yamlProblemText } from "./yaml-problem-text.ts";
import { GO_YAML } from "./yaml-profiles.ts";

/** The first document of a YAML 1.1 text as JSON data. For code that needs the YAML library anyway; others take `parseYaml`. */
export function parseGoYaml(text: string): unknown {
  const composed = composeYaml(text, GO_YAML);
  if ("problem" in composed) throw new YamlError("invalid-yaml", yamlProblemText(composed.problem));
  return toJson(composed.data);
}

/** JSON has no infinities. */
function toJson(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new YamlError("invalid-yaml", `json: unsupported value: ${value}`);
  if (typeof value === "bigint") return exactInteger(value);
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member)]));
}
