import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { Secret } from "../base/secret.ts";
import { joinHostPort } from "../net/host-port.ts";
import { parseTrustBundle } from "../protocol/x509/trust-bundle.ts";
import { createGatewaySecrets, getSecret, type KubernetesAccess, startSdsServer, watchSecrets } from "../sds/index.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { AgentStartError, step } from "./agent-error.ts";
import type { AgentMetrics } from "./metrics.ts";

const DIRECTORY = "./var/run/ingress_gateway";
const SERVICE_ACCOUNT = "./var/run/secrets/kubernetes.io/serviceaccount";

export interface GatewaySdsParts {
  readonly opened: CloseStack;
  readonly env: Environment;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Up to 1.7 a gateway's own certificates come from Kubernetes secrets of its namespace, over a socket of their own. */
export async function connectGatewaySds(config: AgentConfig, parts: GatewaySdsParts): Promise<void> {
  const { role } = config;
  const { opened, env, metrics, signal } = parts;
  const log = parts.log.scope("sds");
  if (role.type === "sidecar" || !existsSync(DIRECTORY)) {
    parts.log.info("Skipping gateway SDS");
    return;
  }
  await step("failed to start gateway SDS", async () => {
    const access = await clusterAccess(env);
    const namespace = config.agent.namespace;
    const secrets = createGatewaySecrets({ log, fetch: (name) => getSecret(access, namespace, name, signal) });
    opened.add(watchSecrets({ access, namespace, log, apply: secrets.apply, remove: secrets.remove }));
    opened.add(
      await startSdsServer({
        path: `${DIRECTORY}/sds`,
        source: secrets,
        legacy: { token: { kind: "none" } },
        metrics: metrics.sds,
        log,
        signal,
      }),
    );
  });
}

/** What a pod has to talk to its API server with. */
async function clusterAccess(env: Environment): Promise<KubernetesAccess> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (!host) {
    const message =
      "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined";
    throw new AgentStartError("start-failed", message);
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
