import { headerTextReason } from "../../istio-api/validation/headers.ts";
import { re2Problem } from "../../istio-api/validation/re2-problem.ts";
import { re2SizeProblem } from "../../istio-api/validation/re2-size.ts";

/**
 * Last defence before the wire: validation told the user already, but one value that Envoy refuses costs the whole route
 * configuration, so that a route with such a value is left out instead.
 */
export function isRegex(text: string | undefined): boolean {
  if (text === undefined || text === "" || text === "*") return true;
  return re2Problem(text) === undefined && re2SizeProblem(text) === undefined;
}

/** Envoy takes no line ends and no zero bytes in anything that becomes a header. */
export function isHeaderSafe(...texts: readonly (string | undefined)[]): boolean {
  return texts.every((text) => headerTextReason(text) === undefined);
}
