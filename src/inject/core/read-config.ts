import { isJsonObject } from "../../base/json-object.ts";
import { parseGoYaml } from "../../files/yaml/parse-go-yaml.ts";
import type { Json } from "./json.ts";

/** An injection config: YAML with `templates`; any other text is itself the template named `sidecar`. */
export function readInjectConfig(text: string): Json {
  const config = parsed(text);
  const hasTemplates =
    isJsonObject(config) && isJsonObject(config.templates) && Object.keys(config.templates).length > 0;
  return hasTemplates ? config : { templates: { sidecar: text } };
}

/** Template text is seldom YAML. */
function parsed(text: string): unknown {
  try {
    return parseGoYaml(text);
  } catch {
    return undefined;
  }
}
