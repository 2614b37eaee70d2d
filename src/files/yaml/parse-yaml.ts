import { CodedError, errorMessage } from "../../base/coded-error.ts";
import { exactInteger, parseExactJson } from "../json/exact-json.ts";
import { nestsTooDeeply, TOO_DEEP } from "./yaml-depth.ts";
import { yamlProblemText } from "./yaml-problem-text.ts";
import { GO_YAML } from "./yaml-profiles.ts";

export class YamlError extends CodedError<"invalid-yaml"> {}

/** Nobody means more levels of JSON than this. */
const MAX_DEPTH = 500;

/**
 * The first document of a YAML 1.1 text (`yes` and `on` are booleans; the last of two equal keys wins) as JSON data, in which an integer that
 * a double would round is a bigint. Text that is plain
 * JSON never loads the YAML library. Blank text is null.
 */
export async function parseYaml(text: string): Promise<unknown> {
  if (/^\s*[{[]/.test(text)) {
    const json = parseJson(text);
    if (json !== undefined) return notTooDeep(json.value);
    // Not JSON after all: flow style YAML, or broken; the YAML reader tells which.
  }
  if (nestsTooDeeply(text)) throw new YamlError("invalid-yaml", `yaml: ${TOO_DEEP}`);
  const { parseAllDocuments } = await import("./yaml-library.ts");
  const documents = parseAllDocuments(text, { ...GO_YAML, intAsBigInt: true });
  const [document] = Array.isArray(documents) ? documents : [];
  if (document === undefined) return null;
  const [problem] = document.errors;
  if (problem !== undefined) throw new YamlError("invalid-yaml", yamlProblemText(problem));
  try {
    return toJson(document.toJS({ maxAliasCount: 100 }));
  } catch (thrown) {
    if (thrown instanceof YamlError) throw thrown;
    const anchor = /Unresolved alias .*: (.+)$/.exec(errorMessage(thrown))?.[1];
    const reason =
      anchor === undefined ? "document contains excessive aliasing" : `unknown anchor '${anchor}' referenced`;
    throw new YamlError("invalid-yaml", `yaml: ${reason}`, { cause: thrown });
  }
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseExactJson(text) };
  } catch {
    return undefined;
  }
}

/** The same value. Looks level by level: what decodes and freezes it later calls itself for each of them. */
function notTooDeep(value: unknown): unknown {
  let level = [value];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++)
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  if (level.length > 0) throw new YamlError("invalid-yaml", `yaml: ${TOO_DEEP}`);
  return value;
}

/** What is wrong with the text is a value; whatever else goes wrong is our mistake, and must not look like a bad document. */
export async function tryParseYaml(text: string): Promise<{ readonly document: unknown; readonly fault?: YamlError }> {
  try {
    return { document: await parseYaml(text) };
  } catch (thrown) {
    if (thrown instanceof YamlError) return { document: undefined, fault: thrown };
    throw thrown;
  }
}

/** JSON has no infinities, and a key of any type is text. */
function toJson(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new YamlError("invalid-yaml", `json: unsupported value: ${value}`);
  if (typeof value === "bigint") return exactInteger(value);
  if (value instanceof Map) return toJson(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member)]));
}
