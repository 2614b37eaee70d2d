import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { type ConfigProblem, type ConfigValidator, shadowedService } from "../../mesh/index.ts";

/** The control plane's own rules for Istio objects; warnings are no reason to refuse them. */
export const validateConfig: ConfigValidator = (text, mesh) => {
  const { objects, problems } = parseConfigText(text, { defaultNamespace: mesh.namespace });
  const wrong = problems
    .filter(({ severity }) => severity === "error")
    .map(({ line, column, field, message, object }) => {
      const where = field === "" ? "" : `${field}: `;
      const what = object === undefined ? "" : ` (${object.kind} ${object.namespace}/${object.name})`;
      return { line, column, text: `${where}${message}${what}` };
    });
  const shadows = objects.flatMap(({ kind, namespace, name, source }): readonly ConfigProblem[] => {
    const service = kind === "ServiceEntry" ? shadowedService(mesh, source) : undefined;
    if (service === undefined) return [];
    const what = `it would take the place of the service ${service} of the mesh file; rename it`;
    return [{ line: lineOf(text, name), column: 1, text: `${what} (${kind} ${namespace}/${name})` }];
  });
  return [...wrong, ...shadows];
};

/** Where the object's name stands, as nothing better is known of an object that is right by itself. */
function lineOf(text: string, name: string): number {
  const at = text.search(new RegExp(`\\bname["']?:\\s*["']?${name}\\b`));
  return at === -1 ? 1 : text.slice(0, at).split("\n").length;
}
