import type { ConfigObject, ObjectRef } from "../../istio-api/config-object.ts";
import { tokenKeysName } from "../../mesh-model/token-keys.ts";
import { parseProtoDuration } from "../../protobuf/proto-duration.ts";

/** A key set and who asks for it. */
export interface WantedKeys {
  /** Empty: where the issuer says. */
  readonly jwksUri: string;
  readonly issuer: string;
  /** The longest that a rule allows; absent when none says anything. */
  readonly timeoutMs?: number;
  readonly objects: readonly ObjectRef[];
}

/** Key sets that objects ask for, by name, each once. */
export function wantedKeys(objects: readonly ConfigObject<"RequestAuthentication">[]): ReadonlyMap<string, WantedKeys> {
  const wanted = new Map<string, WantedKeys>();
  for (const { kind, namespace, name, spec } of objects) {
    for (const rule of spec.jwtRules) {
      const keysName = tokenKeysName(rule);
      if (keysName === undefined) continue;
      const { jwksUri, issuer } = rule;
      const known = wanted.get(keysName);
      const others = known?.objects ?? [];
      const isKnown = others.some((other) => other.namespace === namespace && other.name === name);
      const limits = [known?.timeoutMs, milliseconds(rule.timeout)].filter((limit) => limit !== undefined);
      wanted.set(keysName, {
        jwksUri,
        issuer,
        ...(limits.length > 0 && { timeoutMs: Math.max(...limits) }),
        objects: isKnown ? others : [...others, { kind, namespace, name }],
      });
    }
  }
  return wanted;
}

function milliseconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : Number(parseProtoDuration(duration) / 1_000_000n);
}
