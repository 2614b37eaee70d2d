import type { GoldenCase } from "./golden-cases.ts";
import { object, text } from "./json.ts";

/** What a case asks for that is not built, from its node alone: rule objects of all kinds are. Empty: everything is built. */
export function unsupportedParts({ node }: Pick<GoldenCase, "node">): readonly string[] {
  const [type = ""] = text(node.id).split("~");
  const generator = text(object(node.metadata).GENERATOR);
  return [
    ...(type === "sidecar" || type === "router" ? [] : [`${type} node`]),
    ...(generator === "" || generator === "grpc" ? [] : [`generator ${generator}`]),
  ];
}
