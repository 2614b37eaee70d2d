import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { CloseStack } from "../../../base/close-stack.ts";
import type { Logger } from "../../../base/logger.ts";
import { Secret } from "../../../base/secret.ts";
import { readTextLimited } from "../../../files/read-file.ts";
import { joinHostPort } from "../../../net/host-port.ts";
import { parseTrustBundle } from "../../../protocol/x509/trust-bundle.ts";
import type { SdsMetrics } from "../../metrics.ts";
import { SdsError } from "../../sds-error.ts";
import type { SecretSource, SourceSecret } from "../../secret-source.ts";
import { startSdsServer } from "../../start-sds-server.ts";
import { getSecret, type KubernetesAccess } from "./kubernetes-api.ts";
import { CA_SUFFIX, type GatewayCredentials, type KubernetesSecret, parseGatewaySecret } from "./kubernetes-secret.ts";
import { watchSecrets } from "./watch-secrets.ts";

const DIRECTORY = "./var/run/ingress_gateway";
const SERVICE_ACCOUNT = "./var/run/secrets/kubernetes.io/serviceaccount";

export interface GatewaySdsOptions {
  readonly namespace: string;
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of the pod. */
  readonly apiServer: { readonly host: string | undefined; readonly port: string | undefined };
  readonly metrics: SdsMetrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Up to 1.7 a gateway's own certificates come from Kubernetes secrets of its namespace, over a socket of their own. Undefined where the
 * pod has no directory for it.
 */
export async function startGatewaySds(
  options: GatewaySdsOptions,
): Promise<{ readonly stop: () => Promise<void> } | undefined> {
  const { namespace, metrics, log, signal } = options;
  if (!existsSync(DIRECTORY)) return undefined;
  const access = await clusterAccess(options.apiServer);
  await using opened = new CloseStack();
  const secrets = createGatewaySecrets({ log, fetch: (name) => getSecret(access, namespace, name, signal) });
  opened.add(watchSecrets({ access, namespace, log, apply: secrets.apply, remove: secrets.remove }));
  opened.add(
    await startSdsServer({
      path: `${DIRECTORY}/sds`,
      source: secrets,
      legacy: { token: { kind: "none" } },
      metrics,
      log,
      signal,
    }),
  );
  const owned = opened.move();
  return { stop: () => owned.close() };
}

/** What a pod has to talk to its API server with. */
async function clusterAccess({ host, port = "443" }: GatewaySdsOptions["apiServer"]): Promise<KubernetesAccess> {
  if (!host) {
    const message =
      "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined";
    throw new SdsError("not-in-cluster", message);
  }
  const caText = await readTextLimited(`${SERVICE_ACCOUNT}/ca.crt`);
  const { pem, count } = parseTrustBundle(caText);
  return {
    apiUrl: `https://${joinHostPort(host, port)}`,
    // An empty list would mean the public roots.
    ca: count === 0 ? caText : pem,
    token: async () => new Secret((await readTextLimited(`${SERVICE_ACCOUNT}/token`)).trim()),
  };
}

interface GatewaySecretsOptions {
  readonly log: Logger;
  /** Asks the Kubernetes API for a secret that the watch has not shown yet. */
  readonly fetch?: (name: string) => Promise<KubernetesSecret | undefined>;
  /** Served under any name that has no secret of its own. */
  readonly fallbackName?: string;
}

/** The secrets of a gateway's namespace as an SDS source; the watch of Kubernetes feeds it. */
interface GatewaySecrets extends SecretSource {
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
