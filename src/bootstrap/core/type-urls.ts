import { TYPE_PREFIX } from "../../protobuf/type-url.ts";

export const typeUrl = (name: string) => TYPE_PREFIX + name;

/** A named extension with its typed configuration. */
export function extension(name: string, type: string, config: Readonly<Record<string, unknown>> = {}) {
  return { name, typed_config: { "@type": typeUrl(type), ...config } };
}
