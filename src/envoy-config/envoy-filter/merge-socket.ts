import { type AnyMessage, mergeAny } from "../../protobuf/envoy/index.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";

/** The settings of a named extension. */
interface Named {
  readonly name?: string | undefined;
  readonly typedConfig?: AnyMessage | undefined;
}

/** Settings of one type are merged, and the name may change. A text says why nothing can be made of the two. */
export function mergeNamed<Extension extends Named>(target: Extension, over: Named): Extension | string {
  const name = over.name || target.name;
  if (over.typedConfig === undefined) return { ...target, name };
  if (target.typedConfig === undefined) return `${target.name} has no settings that could be merged`;
  const typedConfig = mergeAny(target.typedConfig, over.typedConfig);
  if (typedConfig === undefined) {
    return `${target.name} has settings of type ${target.typedConfig["@type"]}, not of ${over.typedConfig["@type"]}`;
  }
  return { ...target, name, typedConfig };
}

/** Sockets of one name are merged; another takes the place of the first. */
export function mergeSocket(target: TransportSocket | undefined, over: TransportSocket): TransportSocket | string {
  return target === undefined || target.name !== over.name ? over : mergeNamed(target, over);
}
