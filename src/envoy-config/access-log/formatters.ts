import { pack } from "../../protobuf/envoy/index.ts";
import type { TypedExtensionConfig } from "../../protobuf/gen/envoy/config/core/v3.ts";

/** Extensions that the commands of a format need. */
export function formattersFor(texts: readonly unknown[]): readonly TypedExtensionConfig[] {
  const cutsQuery = texts.some((text) => typeof text === "string" && text.includes("%REQ_WITHOUT_QUERY"));
  return cutsQuery ? [WITHOUT_QUERY] : [];
}

const WITHOUT_QUERY: TypedExtensionConfig = {
  name: "envoy.formatter.req_without_query",
  typedConfig: pack("envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery", {}),
};
