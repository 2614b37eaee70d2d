import { createHash } from "node:crypto";
import { parse as parseYaml, stringify as stringifyYaml } from "yaml";
import { shallowYaml } from "../../files/yaml/yaml-depth.ts";
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
  toYaml: fixed(1, ([arg]) =>
    stringifyYaml(JSON.parse(marshalGoJson(arg, false) ?? "null"), { lineWidth: 0 }).trimEnd(),
  ),
  fromYaml: fixed(1, (args) => parsed(() => parseYaml(shallowYaml(textArg(args, 0)), { maxAliasCount: 0 }) as unknown)),
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
