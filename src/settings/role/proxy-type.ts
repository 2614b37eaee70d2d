import { ConfigError } from "../../istio-api/config-error.ts";
import type { GenerationRules, ProxyType } from "../../istio-api/generations.ts";

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
