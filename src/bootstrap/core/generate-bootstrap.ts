import type { BootstrapInputs } from "../inputs.ts";
import { type BootstrapValues, bootstrapValues } from "./bootstrap-values.ts";
import { buildDocument } from "./document.ts";
import { toStrictJson } from "./json.ts";
import type { NodeDescriptor } from "./node-descriptor.ts";
import { lightstepTokenPath } from "./tracing.ts";

export interface GeneratedBootstrap {
  /** The document's text: strict JSON, or the output of the user's template. */
  readonly text: string;
  /** Files that the document refers to and that must be there before Envoy reads it. */
  readonly secretFiles: readonly { readonly path: string; readonly content: string }[];
  readonly warnings: readonly string[];
}

/** Makes the text from the user's template; see `templateRenderer`. */
export type BootstrapRenderer = (values: BootstrapValues) => string;

/** The built-in document, or what the renderer makes when one is given. Throws `BootstrapError`. */
export function generateBootstrap(
  inputs: BootstrapInputs,
  node: NodeDescriptor,
  render?: BootstrapRenderer,
): GeneratedBootstrap {
  const values = bootstrapValues(inputs, node);
  const text = render === undefined ? toStrictJson(buildDocument(values)) : render(values);
  const { tracer } = values;
  const secretFiles =
    tracer?.kind === "lightstep"
      ? [{ path: lightstepTokenPath(inputs.proxyConfig.configPath ?? ""), content: tracer.accessToken }]
      : [];
  return { text, secretFiles, warnings: values.warnings };
}
