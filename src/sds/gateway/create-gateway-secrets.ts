import { createHash } from "node:crypto";
import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import type { SecretSource, SourceSecret } from "../secret-source.ts";
import { CA_SUFFIX, type GatewayCredentials, type KubernetesSecret, parseGatewaySecret } from "./kubernetes-secret.ts";

export interface GatewaySecretsOptions {
  readonly log: Logger;
  /** Asks the Kubernetes API for a secret that the watch has not shown yet. */
  readonly fetch?: (name: string) => Promise<KubernetesSecret | undefined>;
  /** Served under any name that has no secret of its own. */
  readonly fallbackName?: string;
}

/** The secrets of a gateway's namespace as an SDS source; the watch of Kubernetes feeds it. */
export interface GatewaySecrets extends SecretSource {
  /** Added or updated. Content that did not change is not announced. */
  apply(secret: KubernetesSecret): void;
  remove(name: string): void;
}

export function createGatewaySecrets(options: GatewaySecretsOptions): GatewaySecrets {
  const fallbackName = options.fallbackName ?? "gateway-fallback";
  const resources = new Map<string, SourceSecret>();
  const listeners = new Map<string, Set<() => void>>();

  function put(name: string, secret: SourceSecret | undefined): void {
    if (resources.get(name)?.version === secret?.version) return;
    if (secret === undefined) resources.delete(name);
    else resources.set(name, secret);
    for (const listener of [...(listeners.get(name) ?? [])]) listener();
  }

  function apply(secret: KubernetesSecret): void {
    const parsed = parseGatewaySecret(secret);
    if (parsed.kind === "invalid")
      options.log.warn("gateway secret skipped", { name: secret.name, problem: parsed.problem });
    if (parsed.kind !== "taken") return;
    for (const [name, resource] of toResources(secret.name, parsed.credentials)) put(name, resource);
  }

  return {
    apply,
    remove: (name) => {
      put(name, undefined);
      if (!name.endsWith(CA_SUFFIX)) put(`${name}${CA_SUFFIX}`, undefined);
    },
    get: async (name) => {
      const known = resources.get(name);
      if (known !== undefined) return known;
      const fetched = await options.fetch?.(name.replace(new RegExp(`${CA_SUFFIX}$`), ""));
      if (fetched !== undefined) apply(fetched);
      const found = resources.get(name) ?? resources.get(fallbackName);
      return found === undefined || found.name === name ? found : { ...found, name };
    },
    onChange: (name, listener) => {
      const own = () => listener();
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(own));
      return () => {
        known.delete(own);
        if (known.size === 0 && listeners.get(name) === known) listeners.delete(name);
      };
    },
  };
}

/** A secret with a CA part is two resources; without one, the second does not exist any more. */
function toResources(name: string, { keyPair, roots }: GatewayCredentials): [string, SourceSecret | undefined][] {
  if (keyPair === undefined) return [[name, roots && bundle(name, roots)]];
  const caName = `${name}${CA_SUFFIX}`;
  const { certificate, key } = keyPair;
  const pair: SourceSecret = {
    kind: "key-pair",
    name,
    certificateChain: certificate,
    privateKey: new Secret(key),
    version: digest(certificate, key),
  };
  return [
    [name, pair],
    [caName, roots && bundle(caName, roots)],
  ];
}

function bundle(name: string, roots: Buffer): SourceSecret {
  return { kind: "trust-bundle", name, roots, crlPath: undefined, version: digest(roots) };
}

function digest(...parts: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex").slice(0, 32);
}
