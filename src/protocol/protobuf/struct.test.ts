import { expect, test } from "vitest";
import { foreignCodec, loadEnvoyProtos } from "../../../test/support/sds-envoy-protos.ts";
import { node } from "./discovery.ts";
import { encodeStruct } from "./struct.ts";

/** Envoy's Node, whose metadata is a Struct, read by another implementation of protobuf. */
const foreignNode = foreignCodec(loadEnvoyProtos(), "envoy.config.core.v3.Node");

/** JSON again, from the foreign library's shape of Struct. */
function toJson(value: Record<string, unknown>): unknown {
  if ("fields" in value) {
    const fields = (value.fields ?? {}) as Record<string, Record<string, unknown>>;
    return Object.fromEntries(Object.entries(fields).map(([key, member]) => [key, toJson(member)]));
  }
  if ("structValue" in value) return toJson({ fields: {}, ...(value.structValue as object) });
  if ("listValue" in value)
    return ((value.listValue as { values?: Record<string, unknown>[] }).values ?? []).map(toJson);
  if ("nullValue" in value) return null;
  return value[String(value.kind)];
}

test("another implementation reads the same JSON back", () => {
  const json = {
    text: "a",
    empty: "",
    number: 1.5,
    zero: 0,
    yes: true,
    no: false,
    nothing: null,
    list: [1, "x", [], {}],
    deep: { a: { b: [] } },
  };
  const bytes = node.encode({ metadata: encodeStruct({ ...json, gone: undefined }) });
  expect(toJson(foreignNode.decode(bytes).metadata as Record<string, unknown>)).toEqual(json);
});
