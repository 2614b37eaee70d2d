import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type AgentConfig, diskFiles, splitHostPort, xdsRootCa } from "../config/index.ts";
import type { ClientCredentials, ClientTls } from "../grpc/index.ts";
import { AgentStartError } from "./agent-error.ts";

const LOCAL_SERVER_NAME = "istiod.istio-system.svc";

export interface XdsTls {
  readonly tls: ClientTls;
  /** What the server's certificate must be for; also the `:authority` of requests. */
  readonly serverName: string;
  /** "" for the system's roots. */
  readonly rootFile: string;
}

/**
 * TLS towards the control plane. Roots, certificate and key are read for every handshake, so that what was rotated is used from the next
 * connection on; roots that cannot be read, or hold no certificate, are replaced by the last good ones. Rejects when there are none yet.
 */
export async function connectXdsTls(config: AgentConfig, log: Logger): Promise<XdsTls> {
  const { xds, security, proxyConfig } = config;
  const proxyMetadata = proxyConfig.proxyMetadata ?? {};
  const root = xdsRootCa({ configured: xds.rootCa, security, proxyMetadata }, diskFiles.exists);
  if ("problem" in root)
    throw new AgentStartError("start-failed", `failed to find root CA cert for XDS: ${root.problem}`);
  let roots = root.path === "" ? undefined : await readRoots(root.path);
  const serverName = xdsServerName(xds.discoveryAddress, xds.istiodSan);
  const identity = clientIdentity(config);
  return {
    serverName,
    rootFile: root.path,
    tls: async (): Promise<ClientCredentials> => {
      if (root.path !== "") {
        roots = await readRoots(root.path).catch((failure: unknown) => {
          log.warn(`Failed to read the root certificates for XDS, using those read before: ${errorMessage(failure)}`);
          return roots;
        });
      }
      const client = identity === undefined ? {} : await readClientIdentity(identity, log);
      return { serverName, minVersion: "TLSv1.2", ...(roots !== undefined && { ca: roots }), ...client };
    },
  };
}

/** A control plane on this machine still presents the name it has in the cluster. */
export function xdsServerName(discoveryAddress: string, override: string): string {
  if (override !== "") return override;
  const split = splitHostPort(discoveryAddress);
  const host = "problem" in split ? discoveryAddress : split.host;
  return host.includes("localhost") ? LOCAL_SERVER_NAME : host;
}

async function readRoots(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new AgentStartError(
      "start-failed",
      `failed to create TLS dial option with root certificates: ${path} holds no certificate`,
    );
  }
  return text;
}

interface ClientIdentity {
  readonly chain: string;
  readonly key: string;
}

function clientIdentity({ security, proxyConfig }: AgentConfig): ClientIdentity | undefined {
  if (security.provCert !== "") {
    return { chain: posix.join(security.provCert, "cert-chain.pem"), key: posix.join(security.provCert, "key.pem") };
  }
  if (!security.fileMountedCerts) return undefined;
  const { ISTIO_META_TLS_CLIENT_CERT_CHAIN: chain, ISTIO_META_TLS_CLIENT_KEY: key } = proxyConfig.proxyMetadata ?? {};
  return chain && key ? { chain, key } : undefined;
}

/** Without a usable certificate the token has to do; a key that does not fit fails the handshake. */
async function readClientIdentity(paths: ClientIdentity, log: Logger): Promise<ClientCredentials> {
  try {
    const cert = await readFile(paths.chain, "utf8");
    if (Date.parse(new X509Certificate(cert).validTo) < Date.now()) {
      log.warn("cert expired, using token instead");
      return {};
    }
    return { cert, key: await readFile(paths.key, "utf8") };
  } catch (failure) {
    log.warn(`cannot parse the cert chain, using token instead: ${errorMessage(failure)}`);
    return {};
  }
}
