import { join } from "node:path";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { Secret } from "../base/secret.ts";
import type { DnsServer } from "../dns/index.ts";
import type { TokenFetcher } from "../identity/index.ts";
import { connectThroughProxy, proxyRoute } from "../net/http-proxy/proxy-route.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { message, repeatedString } from "../protobuf/wire/message.ts";
import { machineRoots } from "../protocol/x509/machine-roots.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { systemRootCa } from "../settings/root-ca.ts";
import type { TokenExchange } from "../sts/index.ts";
import { startWasmConverter, type WasmConverter, type WasmMetrics } from "../wasm/index.ts";
import { decodeNameTable } from "../xds/name-table.ts";
import { EXTENSION_TYPE, NAME_TABLE_TYPE, PROXY_CONFIG_TYPE } from "../xds/type-urls.ts";
import {
  createUpstreamTls,
  type InternalHandler,
  type LastGood,
  startLastGood,
  startTap,
  startXdsProxy,
  type Tap,
  type UpstreamOptions,
  type XdsProxy,
} from "../xds-proxy/index.ts";
import { step } from "./agent-error.ts";
import type { AgentMetrics } from "./metrics.ts";
import { watchClientCertificate } from "./watch-client-certificate.ts";

/** istio.mesh.v1alpha1.ProxyConfig, of which the agent takes the trust anchors. */
const dynamicProxyConfig = message({ caCertificatesPem: repeatedString(34) });

export interface XdsParts {
  readonly dns: DnsServer | undefined;
  /** The xDS socket, when it was bound beforehand. */
  readonly reserved: ReservedSocket | undefined;
  /** Takes the trust anchors that the control plane sends. */
  setTrustBundle(anchors: readonly string[]): void;
  readonly tokens: TokenFetcher | undefined;
  /** Trades tokens where `XDS_AUTH_PROVIDER` asks for that. */
  readonly exchange?: TokenExchange | undefined;
  readonly env: Environment;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
}

/** The proxy, with what belongs to it: the last known good configuration and the debug tap. All of it ends with the handle. */
export async function connectXds(config: AgentConfig, parts: XdsParts): Promise<XdsProxy> {
  const { xds, role } = config;
  const log = parts.log.scope("xdsproxy");
  return step("failed to start xds proxy", async () => {
    await using opened = new CloseStack();
    const upstream = await connectUpstream(config, parts, log);
    const directory = xds.lastGoodDirectory;
    const lastGood = directory === "" ? undefined : await startLastGood({ directory, nodeId: role.serviceNode, log });
    if (lastGood !== undefined) opened.add(lastGood);
    const wasm = await connectWasm(config, { env: parts.env, lastGood, metrics: parts.metrics.wasm, log: parts.log });
    if (wasm !== undefined) opened.add(wasm);
    const proxy = opened.add(
      await startXdsProxy({
        ...xds.proxy,
        reserved: parts.reserved,
        upstream,
        handlers: internalHandlers(config, parts),
        ...(wasm && { converters: [wasm] }),
        ...(lastGood && { lastGood }),
        metrics: parts.metrics.xds,
        log,
      }),
    );
    const certificate = config.generation.resetsXdsOnCertificates ? xds.tls?.client : undefined;
    if (certificate !== undefined) {
      const onRotated = () => {
        log.info("the client certificate has changed, streams to the control plane are opened again");
        proxy.reset();
      };
      opened.add(watchClientCertificate({ ...certificate, log, onRotated }));
    }
    const tap = await connectTap(config, { proxy, upstream, log });
    if (tap !== undefined) opened.add(tap);
    const owned = opened.move();
    return toHandle({ ...proxy, ended: proxy.ended, stop: () => owned.close() });
  });
}

async function connectUpstream(config: AgentConfig, parts: XdsParts, log: Logger): Promise<UpstreamOptions> {
  const { upstream, tls } = config.xds;
  const secure =
    tls && (await step("failed to get TLS options to talk to upstream", () => createUpstreamTls(tls, log)));
  const credentials = xdsCredentials(config.xds, parts.tokens, parts.exchange);
  const connect = connectThroughProxy(
    upstream.address,
    config.proxies,
    machineRoots(systemRootCa(diskFiles.exists), log),
  );
  if (connect !== undefined) log.info("the control plane is reached through the proxy of HTTPS_PROXY");
  return {
    ...upstream,
    ...(tls && secure && { tls: secure, authority: tls.serverName }),
    ...(credentials.token && { token: credentials.token }),
    headers: { ...credentials.headers, ...upstream.headers },
    ...(connect && { connect }),
  };
}

/** In the order they are subscribed to. */
function internalHandlers(config: AgentConfig, { dns, setTrustBundle }: XdsParts): InternalHandler[] {
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
      handle: (resource) => setTrustBundle(dynamicProxyConfig.decode(resource).caCertificatesPem),
    });
  }
  return handlers;
}

/**
 * The debug tap; undefined when it is off. A taken port ends the start where the generation always had a tap.
 */
async function connectTap(
  { xds, generation }: AgentConfig,
  parts: { readonly proxy: XdsProxy; readonly upstream: UpstreamOptions; readonly log: Logger },
): Promise<Tap | undefined> {
  const { proxy, upstream, log } = parts;
  if (xds.tapPort === 0) return undefined;
  try {
    return await startTap({ port: xds.tapPort, upstream, node: () => proxy.connectedNode(), log });
  } catch (failure) {
    if (generation.requiresTap) throw failure;
    log.warn(`${errorMessage(failure)}; going on without the debug tap`);
    return undefined;
  }
}

export interface XdsCredentials {
  /** Asked for every stream; undefined: streams go out without a token. */
  readonly token: (() => Promise<string | undefined>) | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A stream that waits longer for its token is better reopened. */
const EXCHANGE_MS = 20_000;

/**
 * The workload's own token; with `XDS_AUTH_PROVIDER=gcp`, where the generation has a token exchange, the access token it is traded for:
 * Google's front ends do not know the tokens of clusters, and charge the calls to a project.
 */
export function xdsCredentials(
  { exchangesTokens }: Pick<AgentConfig["xds"], "exchangesTokens">,
  tokens: Pick<TokenFetcher, "fetch"> | undefined,
  exchange: Pick<TokenExchange, "manager" | "projectNumber"> | undefined,
): XdsCredentials {
  if (tokens === undefined) return { token: undefined, headers: {} };
  if (!exchangesTokens || exchange === undefined) {
    return { token: async () => (await tokens.fetch())?.reveal(), headers: {} };
  }
  return {
    token: async () => {
      const signal = AbortSignal.timeout(EXCHANGE_MS);
      const subject = (await tokens.fetch(signal)) ?? new Secret("");
      const { fetchAccessToken } = await import("../sts/index.ts");
      return (await fetchAccessToken(exchange.manager, subject, signal)).reveal();
    },
    headers: { "x-goog-user-project": exchange.projectNumber },
  };
}

interface WasmParts {
  readonly env: Environment;
  /** What a starting proxy may be served without a control plane, and so without the converter. */
  readonly lastGood: Pick<LastGood, "current"> | undefined;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Undefined when remote modules are left to Envoy. */
async function connectWasm(config: AgentConfig, parts: WasmParts): Promise<WasmConverter | undefined> {
  const { wasm, proxies } = config;
  if (wasm === undefined) return undefined;
  return startWasmConverter({
    ...wasm,
    dockerConfigPath: dockerConfigPath(parts.env),
    rootsFile: systemRootCa(diskFiles.exists),
    owner: config.envoy.user,
    route: (url, roots) => proxyRoute(url, proxies, roots),
    isReferenced: (path) => isRecorded(path, parts.lastGood),
    metrics: parts.metrics,
    log: parts.log.scope("wasm"),
  });
}

/** Whether the last known good configuration names that file. */
export function isRecorded(path: string, lastGood: Pick<LastGood, "current"> | undefined): boolean {
  const extensions = lastGood?.current()?.snapshot.get(EXTENSION_TYPE)?.resources.values() ?? [];
  for (const { any } of extensions) if (any.includes(path)) return true;
  return false;
}

/** Where container tools keep their credentials. */
function dockerConfigPath({ DOCKER_CONFIG, HOME }: Environment): string | undefined {
  if (DOCKER_CONFIG) return join(DOCKER_CONFIG, "config.json");
  return HOME ? join(HOME, ".docker", "config.json") : undefined;
}
