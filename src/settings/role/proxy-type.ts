import type { ProxyType } from "../../xds/service-node.ts";
import { ConfigError } from "../config-error.ts";
import type { GenerationRules } from "../generations.ts";

/** The node type of a command line or a node string; absent is a sidecar. */
export function parseProxyType(word: string | undefined, rules: GenerationRules): ProxyType {
  const type = rules.proxyTypes.find((known) => known === (word ?? "sidecar"));
  if (type !== undefined) return type;
  const message = `${rules.proxyTypeError}${word}`;
  const allowed = rules.proxyTypes.join(", ");
  throw new ConfigError("invalid-proxy-type", message, [
    { source: "first argument of proxy", message, value: word ?? "", allowed },
  ]);
}
