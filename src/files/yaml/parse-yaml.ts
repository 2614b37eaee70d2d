import { parseExactJson } from "../json/exact-json.ts";
import { YamlError } from "./yaml-error.ts";

export { YamlError } from "./yaml-error.ts";

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
  return (await import("./parse-go-yaml.ts")).parseGoYaml(text);
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
