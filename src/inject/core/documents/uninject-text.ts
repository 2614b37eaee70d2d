import { printYaml } from "../../../files/yaml/print-yaml.ts";
import { asList } from "../json.ts";
import { parseDocument } from "./inject-text.ts";
import { splitText } from "./split-text.ts";
import { uninjectDocument } from "./uninject-document.ts";
import { isList } from "./workload-kinds.ts";

/** A stream of YAML documents without the proxy; what was not injected keeps its text. */
export function uninjectText(text: string): string {
  return splitText(text)
    .map((document, index) => `${uninjectOne(parseDocument(document, index)) ?? document}---\n`)
    .join("");
}

function uninjectOne(data: unknown): string | undefined {
  if (!isList(data)) {
    const restored = uninjectDocument(data);
    return restored === undefined ? undefined : printYaml(restored);
  }
  const restored = asList(data.items).map(uninjectDocument);
  if (restored.every((item) => item === undefined)) return undefined;
  return printYaml({ ...data, items: asList(data.items).map((item, index) => restored[index] ?? item) });
}
