import type { CloseStack } from "../base/close-stack.ts";
import {
  type Authenticator,
  type Authority,
  clientCertificateAuthenticator,
  createJwtAuthenticator,
  createServerTls,
  type DevelopmentIssuer,
  forwardedCertificateAuthenticator,
  openDevelopmentIssuer,
  startAuthority,
} from "../ca/index.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { ServerCredentials, ServerTls } from "../net/listen/tls-acceptor.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { createFileTls } from "./serving-files.ts";

export interface ConnectedCa {
  readonly authority: Authority;
  readonly issuer: DevelopmentIssuer;
  /** In the order in which they are tried. */
  readonly authenticators: readonly Authenticator[];
  readonly tls: ServerTls;
}

/** The certificate authority, who is believed, and the server's own certificate. */
export async function connectCa(
  options: StartDiscoveryOptions,
  mesh: () => MeshSettings,
  opened: CloseStack,
): Promise<ConnectedCa> {
  const log = options.log.scope("serverca");
  const { trustDomain } = mesh();
  const authority = opened.add(
    await startAuthority({ ...options.ca, directory: options.caDirectory, trustDomain, log }),
  );
  const issuer = await openDevelopmentIssuer(options.caDirectory);
  const rules = [issuer.rule, ...(options.jwtRules ?? [])];
  const tokens = rules.map((rule) => createJwtAuthenticator({ rule, trustDomain: () => mesh().trustDomain }));
  const { trustedGateways = [] } = options;
  const authenticators = [
    clientCertificateAuthenticator(),
    ...(await Promise.all(tokens)),
    ...(trustedGateways.length === 0 ? [] : [forwardedCertificateAuthenticator(trustedGateways)]),
  ];
  const trustDomains = () => [mesh().trustDomain, ...mesh().trustDomainAliases];
  const tls =
    options.servingFiles === undefined
      ? createServerTls({ authority, hosts: servingHosts(options, mesh()), trustDomain: trustDomains })
      : createFileTls(options.servingFiles, authority, trustDomains);
  // Making the key takes a while, and files may be wrong: both before the port is open.
  await tls();
  return { authority, issuer, authenticators, tls: withLimits(tls, options) };
}

/** Under which names clients know the server: those of the reference, and this machine's own. */
function servingHosts(options: StartDiscoveryOptions, mesh: MeshSettings): readonly string[] {
  const { systemNamespace = "istio-system", revision = "", hosts = [] } = options;
  const names = ["istiod", "istiod-remote", "istio-pilot"];
  if (revision !== "" && revision !== "default") names.push(`istiod-${revision}`);
  const services = names.flatMap((name) => [
    `${name}.${systemNamespace}.svc`,
    `${name}.${systemNamespace}.svc.${mesh.domainSuffix}`,
  ]);
  return [...services, ...discoveryHost(mesh), "localhost", "127.0.0.1", "::1", ...hosts];
}

function discoveryHost({ source }: MeshSettings): readonly string[] {
  const { defaultConfig } = source as { readonly defaultConfig?: { readonly discoveryAddress?: string } };
  const host = (defaultConfig?.discoveryAddress ?? "").replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return host === "" ? [] : [host];
}

/** One object for each of the given ones: connections share what was parsed from it. */
function withLimits(
  tls: ServerTls,
  { tlsMinVersion: minVersion = "TLSv1.2", tlsCiphers: ciphers }: StartDiscoveryOptions,
): ServerTls {
  const limits = { minVersion, ...(ciphers === undefined ? {} : { ciphers }) };
  const changed = new WeakMap<ServerCredentials, ServerCredentials>();
  return async () => {
    const given = await tls();
    const known = changed.get(given) ?? { ...given, ...limits };
    changed.set(given, known);
    return known;
  };
}
