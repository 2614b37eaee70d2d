import { createHash } from "node:crypto";
import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import type { FunctionTable } from "../function-table.ts";
import { fixed, textArg } from "../function-table.ts";
import { marshalGoJson } from "../go-json.ts";
import { TemplateFunctionError } from "../template-error.ts";

/** Sprig's and Istio's encoders. `toJSON` is Istio's: nothing and failures become `{}`. */
export const ENCODING_FUNCTIONS: FunctionTable = {
  toJSON: fixed(1, ([arg]) => (arg === null || arg === undefined ? "{}" : (marshalGoJson(arg) ?? "{}"))),
  toJson: fixed(1, ([arg]) => marshalGoJson(arg) ?? ""),
  toRawJson: fixed(1, ([arg]) => marshalGoJson(arg, false) ?? ""),
  toPrettyJson: fixed(1, ([arg]) => {
    const compact = marshalGoJson(arg);
    return compact === undefined ? "" : JSON.stringify(JSON.parse(compact), null, 2);
  }),
  fromJson: fixed(1, (args) => parsed(() => JSON.parse(textArg(args, 0)) as unknown)),
  toYaml: fixed(1, ([arg]) => printYaml(JSON.parse(marshalGoJson(arg, false) ?? "null")).trimEnd()),
  fromYaml: fixed(1, (args) => {
    const yaml = locateYaml(textArg(args, 0));
    if (!("problem" in yaml)) return yaml.data;
    throw new TemplateFunctionError(`yaml: line ${yaml.position.line}: ${yaml.problem}`);
  }),
  b64enc: fixed(1, (args) => Buffer.from(textArg(args, 0)).toString("base64")),
  b64dec: fixed(1, (args) => {
    const text = textArg(args, 0);
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
      throw new TemplateFunctionError("illegal base64 data");
    }
    return Buffer.from(text, "base64").toString();
  }),
  sha256sum: fixed(1, (args) => createHash("sha256").update(textArg(args, 0)).digest("hex")),
};

function parsed(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (failure) {
    throw new TemplateFunctionError(failure instanceof Error ? failure.message : String(failure));
  }
}
