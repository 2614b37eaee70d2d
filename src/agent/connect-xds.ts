import type { Logger } from "../base/logger.ts";
import type { AgentConfig } from "../config/index.ts";
import { type DnsServer, decodeNameTable } from "../dns/index.ts";
import type { SecretManager, TokenFetcher } from "../identity/index.ts";
import { message, repeatedString } from "../protocol/protobuf/message.ts";
import {
  connectThroughProxy,
  type InternalHandler,
  NAME_TABLE_TYPE,
  PROXY_CONFIG_TYPE,
  startXdsProxy,
  type XdsProxy,
} from "../xds-proxy/index.ts";
import { step } from "./agent-error.ts";
import type { AgentMetrics } from "./metrics.ts";
import { connectXdsTls } from "./xds-tls.ts";

const CONNECT_TIMEOUT_MS = 5000;
/**
 * With a look every quarter of it, and ten seconds for the answer, a dead control plane is noticed within half a minute. Not less:
 * control planes end connections that ping more often than that.
 */
const MAX_PING_INTERVAL_MS = 15_000;
const MAX_PING_TIMEOUT_MS = 10_000;
const MIN_RECEIVE_BYTES = 64 * 1024 * 1024;

/** istio.mesh.v1alpha1.ProxyConfig, of which the agent takes the trust anchors. */
const dynamicProxyConfig = message({ caCertificatesPem: repeatedString(34) });

export interface XdsParts {
  readonly dns: DnsServer | undefined;
  readonly secrets: SecretManager;
  readonly tokens: TokenFetcher | undefined;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
}

export async function connectXds(config: AgentConfig, parts: XdsParts): Promise<XdsProxy> {
  const { xds } = config;
  const { tokens, metrics } = parts;
  const log = parts.log.scope("xdsproxy");
  return step("failed to start xds proxy", async () => {
    const secure = xds.mutualTls
      ? await step("failed to get TLS options to talk to upstream", () => connectXdsTls(config, log))
      : undefined;
    const keepalive = { intervalMs: xds.keepaliveIntervalMs, timeoutMs: xds.keepaliveTimeoutMs };
    const connect = connectThroughProxy(xds.discoveryAddress, xds);
    if (connect !== undefined) log.info("the control plane is reached through the proxy of HTTPS_PROXY");
    return startXdsProxy({
      socketPath: xds.socketPath,
      upstream: {
        address: xds.discoveryAddress,
        ...(secure && { tls: secure.tls, authority: secure.serverName }),
        ...(tokens && { token: async () => (await tokens.fetch())?.reveal() }),
        headers: { ClusterID: xds.clusterId, ...xds.headers },
        keepalive: {
          intervalMs: Math.min(keepalive.intervalMs, MAX_PING_INTERVAL_MS),
          timeoutMs: Math.min(keepalive.timeoutMs, MAX_PING_TIMEOUT_MS),
        },
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        ...(connect && { connect }),
      },
      handlers: internalHandlers(config, parts),
      maxReceiveBytes: Math.max(xds.maxReceiveBytes, MIN_RECEIVE_BYTES),
      maxStreams: xds.maxStreams,
      downstreamKeepalive: keepalive,
      clusterId: xds.clusterId,
      metrics: metrics.xds,
      log,
    });
  });
}

/** In the order they are subscribed to. */
function internalHandlers(config: AgentConfig, { dns, secrets }: XdsParts): InternalHandler[] {
  const handlers: InternalHandler[] = [];
  if (dns !== undefined) {
    handlers.push({
      typeUrl: NAME_TABLE_TYPE,
      name: "name table",
      handle: (resource) => dns.updateNameTable(decodeNameTable(resource)),
    });
  }
  if (config.xds.dynamicProxyConfig) {
    handlers.push({
      typeUrl: PROXY_CONFIG_TYPE,
      name: "proxy config",
      handle: (resource) => secrets.setConfigTrustBundle(dynamicProxyConfig.decode(resource).caCertificatesPem),
    });
  }
  return handlers;
}
