import { printYaml } from "../../../src/files/yaml/print-yaml.ts";
import { ruleDefinitions } from "../../../src/istio-api/definitions/rule-definitions.ts";

const HEADER =
  "# Generated from the message tables by scripts/generate-deploy.mjs; edit src/istio-api/definitions instead.\n";

/** The definitions of all kinds of rules as one YAML stream. */
export function definitionText(): string {
  return (
    HEADER +
    ruleDefinitions()
      .map((definition) => `---\n${printYaml(definition)}`)
      .join("")
  );
}
