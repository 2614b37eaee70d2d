import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { CloseStack } from "../../base/close-stack.ts";
import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import { joinHostPort } from "../../net/host-port.ts";
import { parseTrustBundle } from "../../protocol/x509/trust-bundle.ts";
import type { SdsMetrics } from "../metrics.ts";
import { SdsError } from "../sds-error.ts";
import { startSdsServer } from "../start-sds-server.ts";
import { createGatewaySecrets } from "./create-gateway-secrets.ts";
import { getSecret, type KubernetesAccess } from "./kubernetes-api.ts";
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
  const caText = await readFile(`${SERVICE_ACCOUNT}/ca.crt`, "utf8");
  const { pem, count } = parseTrustBundle(caText);
  return {
    apiUrl: `https://${joinHostPort(host, port)}`,
    // An empty list would mean the public roots.
    ca: count === 0 ? caText : pem,
    token: async () => new Secret((await readFile(`${SERVICE_ACCOUNT}/token`, "utf8")).trim()),
  };
}
