import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { createSecureContext, rootCertificates, type SecureContextOptions } from "node:tls";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClientCredentials, ClientTls } from "../grpc/index.ts";
import { splitHostPort } from "../net/split-host-port.ts";
import type { AgentConfig } from "../settings/index.ts";
import { diskFiles, xdsRootCa } from "../settings/index.ts";
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
  const limits = tlsLimits(security.compliancePolicy);
  return {
    serverName,
    rootFile: root.path,
    tls: async (): Promise<ClientCredentials> => {
      if (root.path !== "") {
        roots = await readRoots(root.path).catch((failure: unknown) => {
          log.warn(`Failed to init xds proxy dial options, using the roots read before: ${errorMessage(failure)}`);
          return roots;
        });
      }
      const client = identity === undefined ? {} : await readClientIdentity(identity, log);
      const options = { ...limits, ca: roots ?? [...rootCertificates], ...client };
      // Curves can only be given with a context.
      return {
        serverName,
        ...(limits.ecdhCurve === undefined ? options : { secureContext: createSecureContext(options) }),
      };
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

const FIPS_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];
const TLS13_CIPHERS = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/** What a compliance policy allows. Throws where this runtime's OpenSSL cannot do it, so that the start tells and not a handshake. */
export function tlsLimits(policy: string): SecureContextOptions {
  const limits = LIMITS[policy];
  if (limits === undefined) return { minVersion: "TLSv1.2" };
  try {
    // Without roots of its own a context reads all of node's, which takes longer than the rest of the start.
    createSecureContext({ ...limits, ca: [] });
  } catch (cause) {
    const text = `COMPLIANCE_POLICY ${policy} needs ${limits.ecdhCurve}, which OpenSSL ${process.versions.openssl} does not have`;
    throw new AgentStartError("start-failed", text, { cause });
  }
  return limits;
}

const LIMITS: Readonly<Record<string, SecureContextOptions>> = {
  "fips-140-2": { minVersion: "TLSv1.2", maxVersion: "TLSv1.2", ciphers: FIPS_CIPHERS.join(":"), ecdhCurve: "P-256" },
  "fips-140-3": {
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.3",
    ciphers: [...TLS13_CIPHERS.slice(0, 2), ...FIPS_CIPHERS].join(":"),
    ecdhCurve: "P-256:P-384",
  },
  pqc: { minVersion: "TLSv1.3", ecdhCurve: "X25519MLKEM768" },
};

async function readRoots(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  // A file that is being written may end inside of one; OpenSSL would take it for an empty list.
  if (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.some(isCertificate) !== true) {
    throw new AgentStartError(
      "start-failed",
      `failed to create TLS dial option with root certificates: ${path} holds no certificate`,
    );
  }
  return text;
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
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
