import { CodedError } from "../../base/coded-error.ts";
import { exactInteger, parseExactJson } from "../json/exact-json.ts";
import { yamlProblemText } from "./yaml-problem-text.ts";
import { GO_YAML } from "./yaml-profiles.ts";

export class YamlError extends CodedError<"invalid-yaml"> {}

/**
 * The first document of a YAML 1.1 text (`yes` and `on` are booleans; the last of two equal keys wins) as JSON data, in which an integer that
 * a double would round is a bigint. Text that is plain
 * JSON never loads the YAML library. Blank text is null.
 */
export async function parseYaml(text: string): Promise<unknown> {
  if (/^\s*[{[]/.test(text)) {
    const json = parseJson(text);
    if (json !== undefined) return json.value;
    // Flow style YAML, or broken, or too deep; the YAML reader decides.
  }
  const { composeYaml } = await import("./compose-yaml.ts");
  const composed = composeYaml(text, GO_YAML);
  if ("problem" in composed) throw new YamlError("invalid-yaml", yamlProblemText(composed.problem));
  return toJson(composed.data);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseExactJson(text) };
  } catch {
    return undefined;
  }
}

/** What is wrong with the text is a value; any other failure is a fault of the program, and must not look like a bad document. */
export async function tryParseYaml(text: string): Promise<{ readonly document: unknown; readonly fault?: YamlError }> {
  try {
    return { document: await parseYaml(text) };
  } catch (thrown) {
    if (thrown instanceof YamlError) return { document: undefined, fault: thrown };
    throw thrown;
  }
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
