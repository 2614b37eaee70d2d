import { createHash } from "node:crypto";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type GeneratedBootstrap, generateBootstrap } from "./core/generate-bootstrap.ts";
import type { NodeDescriptor } from "./core/node-descriptor.ts";
import { templateRenderer } from "./core/template-renderer.ts";
import type { BootstrapInputs } from "./inputs.ts";

/** SHA-256 of templates that make the built-in document. */
const STOCK_TEMPLATES: ReadonlySet<string> = new Set([
  "d3a3fe34ac9f314ddd5e6db9c049d8deb405f6088ae398608f85a3d7007c7c28",
]);

/**
 * Images are customized by their template. Undefined for a stock one, and, with a warning, for one that cannot be used: the built-in
 * document takes its place.
 */
export function renderImageTemplate(
  template: { readonly path: string; readonly text: string },
  inputs: BootstrapInputs,
  node: NodeDescriptor,
  log: Logger,
  stock: ReadonlySet<string> = STOCK_TEMPLATES,
): GeneratedBootstrap | undefined {
  if (stock.has(createHash("sha256").update(template.text).digest("hex"))) return undefined;
  try {
    const generated = generateBootstrap(inputs, node, templateRenderer(template.text));
    JSON.parse(generated.text);
    log.info(`The bootstrap is made from the image's own template ${template.path}`);
    return generated;
  } catch (failure) {
    log.warn(`the image's bootstrap template ${template.path} is not used: ${errorMessage(failure)}`);
    return undefined;
  }
}
