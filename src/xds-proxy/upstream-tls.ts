import { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { readTextLimited } from "../files/read-file.ts";
import type { ClientCredentials, ClientTls } from "../grpc/index.ts";
import { tlsLimits } from "../net/tls/compliance-policy.ts";
import { handshakeOptions } from "../net/tls/handshake-options.ts";
import { createBundleWarnings, parseTrustBundle, type TrustBundle } from "../protocol/x509/trust-bundle.ts";
import { XdsProxyError } from "./xds-proxy-error.ts";

export interface UpstreamTlsOptions {
  /** What the server's certificate must be for; also the `:authority` of requests. */
  readonly serverName: string;
  /** The file of roots, "" for the runtime's own; or why there is none. */
  readonly root: { readonly path: string } | { readonly problem: string };
  /** The certificate to show; undefined: the token has to do. */
  readonly client: { readonly chain: string; readonly key: string } | undefined;
  /** COMPLIANCE_POLICY; "" for none. */
  readonly compliancePolicy: string;
}

/**
 * TLS towards the control plane. Roots, certificate and key are read for every handshake, so that what was rotated is used from the next
 * connection on; roots that cannot be read, or hold no certificate, are replaced by the last good ones. Rejects when there are none yet.
 */
export async function createUpstreamTls(options: UpstreamTlsOptions, log: Logger): Promise<ClientTls> {
  const { root, serverName, client: identity } = options;
  if ("problem" in root) throw new XdsProxyError("bad-roots", `failed to find root CA cert for XDS: ${root.problem}`);
  const warnOf = createBundleWarnings(log);
  const currentRoots = async () => {
    const bundle = await readRoots(root.path);
    warnOf(root.path, bundle);
    return bundle.pem;
  };
  let roots = root.path === "" ? undefined : await currentRoots();
  const limits = tlsLimits(options.compliancePolicy);
  return async (): Promise<ClientCredentials> => {
    if (root.path !== "") {
      roots = await currentRoots().catch((failure: unknown) => {
        log.warn(`Failed to init xds proxy dial options, using the roots read before: ${errorMessage(failure)}`);
        return roots;
      });
    }
    const client = identity === undefined ? {} : await readClientIdentity(identity, log);
    return { serverName, ...handshakeOptions({ ...limits, ca: roots ?? [...rootCertificates], ...client }) };
  };
}

async function readRoots(path: string): Promise<TrustBundle> {
  const bundle = parseTrustBundle(await readTextLimited(path));
  // A file that is being written may end inside of one; OpenSSL would take it for an empty list.
  if (bundle.count > 0) return bundle;
  throw new XdsProxyError(
    "bad-roots",
    `failed to create TLS dial option with root certificates: ${path} holds no certificate`,
  );
}

type ClientIdentity = NonNullable<UpstreamTlsOptions["client"]>;

/** Without a usable certificate the token has to do; a key that cannot be read or does not fit fails the handshake. */
async function readClientIdentity(paths: ClientIdentity, log: Logger): Promise<ClientCredentials> {
  let cert: string;
  try {
    cert = await readTextLimited(paths.chain);
    if (Date.parse(new X509Certificate(cert).validTo) < Date.now()) {
      log.warn("cert expired, using token instead");
      return {};
    }
  } catch (failure) {
    log.warn(`cannot parse the cert chain, using token instead: ${errorMessage(failure)}`);
    return {};
  }
  return { cert, key: await readTextLimited(paths.key) };
}
