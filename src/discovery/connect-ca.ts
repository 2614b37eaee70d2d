import type { CloseStack } from "../base/close-stack.ts";
import {
  type Authenticator,
  type Authority,
  type Caller,
  clientCertificateAuthenticator,
  createJwtAuthenticator,
  createServerTls,
  createTokenReviewAuthenticator,
  type DevelopmentIssuer,
  forwardedCertificateAuthenticator,
  openDevelopmentIssuer,
  startAuthority,
} from "../ca/index.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { ServerCredentials, ServerTls } from "../net/listen/tls-acceptor.ts";
import type { ClusterIdentitySettings, ServingFiles } from "../settings/discovery-settings.ts";
import { createTokenReviewer, watchNodePods } from "./cluster/believed-callers.ts";
import type { ClusterApi } from "./cluster/cluster-api.ts";
import { copyRemoteCerts } from "./cluster/copy-remote-certs.ts";
import { impersonationProblem } from "./cluster/core/impersonation.ts";
import { createSecretRootStore } from "./cluster/secret-root-store.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import type { RemoteClusters } from "./remote-clusters/start-remote-clusters.ts";
import { createFileTls } from "./serving-files.ts";
import { untilSynced } from "./until-synced.ts";

export interface ConnectedCa {
  readonly authority: Authority;
  /** Absent in a cluster, which issues its own tokens. */
  readonly issuer: DevelopmentIssuer | undefined;
  /** In the order in which they are tried. */
  readonly authenticators: readonly Authenticator[];
  readonly tls: ServerTls;
  /** PEM of the roots that vouch for the server's own certificate. */
  readonly servingRoots: () => string;
  /** Calls after each change of those roots. Returns what ends the subscription. */
  readonly onServingRoots: (listener: () => void) => () => void;
}

/** The certificate authority, who is believed, and the server's own certificate. */
export async function connectCa(
  options: StartDiscoveryOptions,
  mesh: () => MeshSettings,
  remote: Pick<RemoteClusters, "api" | "all"> | undefined,
  opened: CloseStack,
): Promise<ConnectedCa> {
  const log = options.log.scope("serverca");
  const { trustDomain } = mesh();
  const api = options.kubernetesSource?.api;
  const { identity: cluster = CLUSTER_IDENTITY } = options.kubernetes ?? {};
  const store = api && createSecretRootStore({ api, namespace: systemNamespaceOf(options), names: cluster.caSecrets });
  const selfSigned = { ...options.ca?.selfSigned, ...(store !== undefined && { store }) };
  if (api !== undefined && cluster.copiesCa === true) {
    await copyRemoteCerts({ api, namespace: systemNamespaceOf(options), directory: options.caDirectory, log });
  }
  const authority = opened.add(
    await startAuthority({ ...options.ca, selfSigned, directory: options.caDirectory, trustDomain, log }),
  );
  // Not in a cluster: its accounts have tokens, and the directory may be a volume that nothing can be written to.
  const issuer = api === undefined ? await openDevelopmentIssuer(options.caDirectory) : undefined;
  const rules = [...(issuer === undefined ? [] : [issuer.rule]), ...(options.jwtRules ?? [])];
  const tokens = rules.map((rule) => createJwtAuthenticator({ rule, trustDomain: () => mesh().trustDomain }));
  const { trustedGateways = [] } = options;
  const authenticators = [
    clientCertificateAuthenticator(),
    ...(await Promise.all(tokens)),
    ...(api === undefined
      ? []
      : [reviewTokens({ api, remote, options, cluster, trustDomain: () => mesh().trustDomain })]),
    ...(trustedGateways.length === 0 ? [] : [forwardedCertificateAuthenticator(trustedGateways)]),
  ];
  const trustDomains = () => [mesh().trustDomain, ...mesh().trustDomainAliases];
  const tls =
    options.servingFiles === undefined
      ? createServerTls({ authority, hosts: servingHosts(options, mesh()), trustDomain: trustDomains })
      : createFileTls(options.servingFiles, authority, trustDomains);
  // Making the key takes a while, and files may be wrong: both before the port is open.
  await tls();
  const serving = options.servingFiles === undefined ? rootsOfAuthority(authority, tls) : await rootsOfFiles(tls);
  return { authority, issuer, authenticators, ...serving, tls: withLimits(serving.tls, options) };
}

export type Serving = Pick<ConnectedCa, "tls" | "servingRoots" | "onServingRoots">;

/** A certificate from files for a server without a CA. */
export async function connectServingFiles(files: ServingFiles): Promise<Serving> {
  return rootsOfFiles(createFileTls(files, { material: { rootPem: "", chainPem: [] } }, () => []));
}

function rootsOfAuthority(authority: Authority, tls: ServerTls): Serving {
  return {
    tls,
    servingRoots: () => authority.material.rootPem,
    onServingRoots: (listener) => authority.onChange(listener),
  };
}

/** The file of roots is looked at with the others, at each handshake. */
async function rootsOfFiles(tls: ServerTls): Promise<Serving> {
  const listeners = new Set<() => void>();
  const rootsOf = ({ ca }: ServerCredentials) => String([ca].flat().at(-1) ?? "");
  let roots = rootsOf(await tls());
  return {
    tls: async () => {
      const credentials = await tls();
      const before = roots;
      roots = rootsOf(credentials);
      if (roots !== before) for (const listener of listeners) listener();
      return credentials;
    },
    servingRoots: () => roots,
    onServingRoots: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

interface ReviewParts {
  readonly api: ClusterApi;
  readonly remote: Pick<RemoteClusters, "api" | "all"> | undefined;
  readonly options: StartDiscoveryOptions;
  readonly cluster: ClusterIdentitySettings;
  readonly trustDomain: () => string;
}

/** Tokens of service accounts are confirmed by the cluster that the caller says it is in; without a word, by the control plane's own. */
function reviewTokens({ api, remote, options, cluster, trustDomain }: ReviewParts): Authenticator {
  const { clusterId = "Kubernetes", clusterAliases = new Map<string, string>() } = options;
  const own = createTokenReviewer(api);
  return createTokenReviewAuthenticator({
    reviewerOf: (given) => {
      const id = clusterAliases.get(given) ?? given;
      if (id === "" || id === clusterId) return own;
      const other = remote?.api(id);
      return other && createTokenReviewer(other);
    },
    clusters: () => [clusterId, ...(remote?.all() ?? []).map(({ id }) => id)],
    audiences: cluster.tokenAudiences,
    trustDomain,
  });
}

/** The defaults of the environment. */
export const CLUSTER_IDENTITY: ClusterIdentitySettings = {
  caSecrets: ["istio-ca-secret"],
  tokenAudiences: ["istio-ca"],
  rootConfigMap: "istio-ca-root-cert",
};

/**
 * `CA_TRUSTED_NODE_ACCOUNTS`: node agents get certificates for pods of their own node. Undefined where no account is trusted with it: then no
 * caller may ask for an identity that is not its own.
 */
export async function authorizeNodes(
  {
    kubernetesSource: source,
    kubernetes,
    clusterId = "Kubernetes",
    clusterAliases = new Map(),
    signal,
    log,
  }: StartDiscoveryOptions,
  mesh: () => MeshSettings,
  opened: CloseStack,
): Promise<((caller: Caller, identity: string) => Promise<string | undefined>) | undefined> {
  const trusted = new Set(kubernetes?.identity?.nodeAccounts ?? []);
  if (source === undefined || trusted.size === 0) return undefined;
  const { pods, watch } = watchNodePods(source);
  opened.defer(() => watch.stop());
  await untilSynced({
    watches: [["pods, for node authorization", watch]],
    log: log.scope("kube"),
    signal,
    needsSome: false,
  });
  return async ({ identities: [own = ""], pod = { name: "", uid: "" }, clusterId: named = "" }, wanted) => {
    const cluster = clusterAliases.get(named) ?? named;
    if (cluster !== "" && cluster !== clusterId) return `no node authorizer for cluster ${cluster}`;
    const trustDomain = mesh().trustDomain.replaceAll("@", ".");
    return impersonationProblem({ identity: own, pod }, wanted, { trusted, trustDomain, pods });
  };
}

function systemNamespaceOf({ systemNamespace = "istio-system" }: StartDiscoveryOptions): string {
  return systemNamespace;
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
