import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { rootCertificates } from "node:tls";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClientCredentials, ClientTls } from "../grpc/index.ts";
import { splitHostPort } from "../net/host-port.ts";
import { tlsLimits } from "../net/tls/compliance-policy.ts";
import { handshakeOptions } from "../net/tls/handshake-options.ts";
import { createBundleWarnings, parseTrustBundle, type TrustBundle } from "../protocol/x509/trust-bundle.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { xdsRootCa } from "../settings/root-ca.ts";
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
  const warnOf = createBundleWarnings(log);
  const currentRoots = async () => {
    const bundle = await readRoots(root.path);
    warnOf(root.path, bundle);
    return bundle.pem;
  };
  let roots = root.path === "" ? undefined : await currentRoots();
  const serverName = xdsServerName(xds.discoveryAddress, xds.istiodSan);
  const identity = clientIdentity(config);
  const limits = tlsLimits(security.compliancePolicy);
  return {
    serverName,
    rootFile: root.path,
    tls: async (): Promise<ClientCredentials> => {
      if (root.path !== "") {
        roots = await currentRoots().catch((failure: unknown) => {
          log.warn(`Failed to init xds proxy dial options, using the roots read before: ${errorMessage(failure)}`);
          return roots;
        });
      }
      const client = identity === undefined ? {} : await readClientIdentity(identity, log);
      return { serverName, ...handshakeOptions({ ...limits, ca: roots ?? [...rootCertificates], ...client }) };
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

async function readRoots(path: string): Promise<TrustBundle> {
  const bundle = parseTrustBundle(await readFile(path, "utf8"));
  // A file that is being written may end inside of one; OpenSSL would take it for an empty list.
  if (bundle.count > 0) return bundle;
  throw new AgentStartError(
    "start-failed",
    `failed to create TLS dial option with root certificates: ${path} holds no certificate`,
  );
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

/** Without a usable certificate the token has to do; a key that cannot be read or does not fit fails the handshake. */
async function readClientIdentity(paths: ClientIdentity, log: Logger): Promise<ClientCredentials> {
  let cert: string;
  try {
    cert = await readFile(paths.chain, "utf8");
    if (Date.parse(new X509Certificate(cert).validTo) < Date.now()) {
      log.warn("cert expired, using token instead");
      return {};
    }
  } catch (failure) {
    log.warn(`cannot parse the cert chain, using token instead: ${errorMessage(failure)}`);
    return {};
  }
  return { cert, key: await readFile(paths.key, "utf8") };
}
