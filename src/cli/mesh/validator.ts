import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigProblem } from "../../mesh/index.ts";

/** The control plane's own rules for Istio objects; warnings are no reason to refuse them. */
export function validateConfig(text: string): readonly ConfigProblem[] {
  return parseConfigText(text)
    .problems.filter(({ severity }) => severity === "error")
    .map(({ line, column, field, message, object }) => {
      const where = field === "" ? "" : `${field}: `;
      const what = object === undefined ? "" : ` (${object.kind} ${object.namespace}/${object.name})`;
      return { line, column, text: `${where}${message}${what}` };
    });
}
