import { parseTemplate, SPRIG_FUNCTIONS, TemplateError } from "../../template/index.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import type { BootstrapInputs } from "../inputs.ts";
import { bootstrapValues } from "./bootstrap-values.ts";
import { buildDocument } from "./document.ts";
import { GENERATIONS } from "./generations.ts";
import { toStrictJson } from "./json.ts";
import type { NodeDescriptor } from "./node-descriptor.ts";
import { templateParameters } from "./template-parameters.ts";
import { lightstepTokenPath } from "./tracing.ts";

export interface GeneratedBootstrap {
  /** The document's text: strict JSON, or whatever the user's template made. */
  readonly text: string;
  /** Files that the document refers to and that must be there before Envoy reads it. */
  readonly secretFiles: readonly { readonly path: string; readonly content: string }[];
  readonly warnings: readonly string[];
}

/** The built-in document, or the template's output when a template text is given. Throws `BootstrapError`. */
export function generateBootstrap(
  inputs: BootstrapInputs,
  node: NodeDescriptor,
  template?: string,
): GeneratedBootstrap {
  const values = bootstrapValues(inputs, node);
  const text =
    template === undefined
      ? toStrictJson(buildDocument(values))
      : renderTemplate(template, templateParameters(values), GENERATIONS[inputs.generation].sprig);
  const { tracer } = values;
  const secretFiles =
    tracer?.kind === "lightstep"
      ? [{ path: lightstepTokenPath(inputs.proxyConfig.configPath ?? ""), content: tracer.accessToken }]
      : [];
  return { text, secretFiles, warnings: values.warnings };
}

/** Generations without Sprig have Istio's own two JSON functions. */
const JSON_FUNCTIONS = Object.fromEntries(
  Object.entries(SPRIG_FUNCTIONS).filter(([name]) => name === "toJSON" || name === "toJson"),
);

function renderTemplate(template: string, parameters: Readonly<Record<string, unknown>>, sprig: boolean): string {
  try {
    return parseTemplate("bootstrap", template, { functions: sprig ? SPRIG_FUNCTIONS : JSON_FUNCTIONS }).execute(
      parameters,
    );
  } catch (failure) {
    if (failure instanceof TemplateError)
      throw new BootstrapError("invalid-template", failure.message, { cause: failure });
    throw failure;
  }
}
