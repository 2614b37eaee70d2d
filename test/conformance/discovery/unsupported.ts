import { readObjects } from "./case-context.ts";
import type { GoldenCase } from "./golden-cases.ts";
import { object, text } from "./json.ts";

/** Kinds that are read and validated, but that no generator obeys yet. */
const KINDS = ["ProxyConfig", "WasmPlugin"];

/** What a case asks for that is not built, from its files alone: rule objects and the kind of node. Empty: everything is built. */
export function unsupportedParts({ configYaml, node }: Pick<GoldenCase, "configYaml" | "node">): readonly string[] {
  const kinds = new Set(readObjects(configYaml).map(({ kind }) => text(kind)));
  const [type = ""] = text(node.id).split("~");
  const generator = text(object(node.metadata).GENERATOR);
  return [
    ...KINDS.filter((kind) => kinds.has(kind)),
    ...(type === "sidecar" || type === "router" ? [] : [`${type} node`]),
    ...(generator === "" || generator === "grpc" ? [] : [`generator ${generator}`]),
  ];
}
