import { parseTemplate, SPRIG_FUNCTIONS, TemplateError } from "../../template/index.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import type { BootstrapRenderer } from "./generate-bootstrap.ts";
import { templateParameters } from "./template-parameters.ts";

/** Renders a user's template. A module of its own, loaded when there is one: the template language is a fifth of the agent's code. */
export function templateRenderer(template: string): BootstrapRenderer {
  return (values) => render(template, templateParameters(values), values.generation.sprig);
}

/** Generations without Sprig have Istio's own two JSON functions. */
const JSON_FUNCTIONS = Object.fromEntries(
  Object.entries(SPRIG_FUNCTIONS).filter(([name]) => name === "toJSON" || name === "toJson"),
);

function render(template: string, parameters: Readonly<Record<string, unknown>>, sprig: boolean): string {
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
