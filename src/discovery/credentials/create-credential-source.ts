import type { Logger } from "../../base/logger.ts";
import type { Counter } from "../../base/metric-registry.ts";
import type { ConfigObject } from "../../istio-api/config-object.ts";
import { PULL_SECRET_KEY } from "../../istio-api/decode/decode-credential.ts";
import type { WorkloadIdentity } from "../../mesh-model/workload-identity.ts";
import { createResourceSet } from "../../xds/resource-set.ts";
import type { EncodedResource, ResourceSet } from "../../xds/resource-source.ts";
import { type CredentialName, parseCredentialName, ROOTS_SUFFIX } from "./core/credential-name.ts";
import type { AccessReviews } from "./create-access-reviews.ts";
import { createCredentialEncoder } from "./create-credential-encoder.ts";
import type { CredentialStore, StoredCredential } from "./create-credential-table.ts";
import { type CredentialProblem, mergeProblems } from "./credential-problems.ts";
import type { ClusterCredentials, UsedCredentials } from "./watch-cluster-credentials.ts";

/** Who asks for credentials. */
export interface CredentialClient {
  readonly proxy: string;
  /** Proven; without it no credential is given. */
  readonly identity: WorkloadIdentity | undefined;
  readonly isRouter: boolean;
  /** That it says it is in; empty where it does not say. */
  readonly clusterId: string;
  /** Gateways that the proxy serves now. */
  gateways(): readonly ConfigObject<"Gateway">[];
}

/** The credentials of one stream, until it is closed. */
export interface ClientCredentials {
  /** Those that are there and that the client may have. Others follow with `onChange`. */
  named(resources: readonly string[]): ResourceSet;
  /** `resources`, those that modules are fetched with a Secret for completed with it, as far as it is there. */
  withPullSecrets(resources: ResourceSet): ResourceSet;
  close(): void;
}

export interface CredentialSource {
  /** `onChange`: one of the named resources may be another than before. */
  open(client: CredentialClient, onChange: () => void): ClientCredentials;
  /** Proxies in this cluster get its Secrets, before those of the own one, until what it returns is called. */
  addCluster(cluster: CredentialCluster): () => Promise<void>;
  problems(): readonly CredentialProblem[];
  /** Called when `problems` may give others than before. */
  subscribe(listener: () => void): () => void;
  /** A Secret, a ConfigMap or the right of an account of this key is another than before; undefined: any of them. */
  changed(key: string | undefined): void;
  stop(): Promise<void>;
}

/** A cluster whose Secrets proxies may be given. */
export interface CredentialCluster {
  readonly id: string;
  readonly credentials: ClusterCredentials;
  /** What accounts of the cluster may read. */
  readonly reviews: AccessReviews;
}

export interface CredentialSourceOptions {
  /** In this order: of two credentials with one name the earlier store's counts. */
  readonly first: readonly CredentialStore[];
  /** The control plane's own, asked between the two; absent without a cluster. */
  readonly cluster?: CredentialCluster | undefined;
  readonly last: readonly CredentialStore[];
  readonly errors: Counter;
  readonly log: Logger;
  readonly now?: () => number;
}

type Outcome =
  | { readonly is: "resource"; readonly resource: EncodedResource; readonly warning?: string | undefined }
  | { readonly is: "waiting" }
  | { readonly is: "absent" }
  | { readonly is: "problem"; readonly reason: string };

interface OpenClient {
  readonly client: CredentialClient;
  readonly onChange: () => void;
  /** What the last answer was made of: keys of Secrets and ConfigMaps. */
  inputs: Set<string>;
  /** The same of Secrets that modules are fetched with. */
  pullInputs: Set<string>;
  readonly used: Map<string, UsedCredentials>;
  outcomes: ReadonlyMap<string, Outcome>;
}

/** At most so many ConfigMaps are followed: any proxy may name any of them. */
const MAX_CONFIG_MAPS = 1000;

/** Gives each client the credentials it may have, and wakes only those who use one that changed. */
export function createCredentialSource(options: CredentialSourceOptions): CredentialSource {
  const { first, cluster, last, errors, log, now = Date.now } = options;
  const clients = new Set<OpenClient>();
  const listeners = new Set<() => void>();
  const reported = new Map<string, string>();
  const remote = new Map<string, CredentialCluster>();
  let woken: Set<OpenClient> | undefined;

  const wake = (which: Iterable<OpenClient>) => {
    if (woken === undefined) {
      const waking = new Set<OpenClient>();
      woken = waking;
      // Secrets that are written together are sent together.
      setImmediate(() => {
        woken = undefined;
        for (const open of waking) if (clients.has(open)) open.onChange();
      });
    }
    for (const open of which) woken.add(open);
  };
  const changed = (key: string | undefined) =>
    wake(key === undefined ? clients : [...clients].filter((open) => open.inputs.has(key) || open.pullInputs.has(key)));

  const toResource = createCredentialEncoder(now);
  const toOutcome = (resource: string, stored: StoredCredential, isRoots: boolean): Outcome => {
    const made = toResource(resource, stored, isRoots);
    return "problem" in made ? { is: "problem", reason: made.problem } : { is: "resource", ...made };
  };

  const useOf = (open: OpenClient, key: string, begin: () => UsedCredentials): UsedCredentials => {
    const used = open.used.get(key) ?? begin();
    open.used.set(key, used);
    return used;
  };
  /** The cluster of the client first, then the control plane's own, as with the reference. */
  const clustersOf = ({ client }: OpenClient) => {
    const own = cluster === undefined ? [] : [cluster];
    const other = remote.get(client.clusterId);
    return other === undefined ? own : [other, ...own];
  };
  const find = (open: OpenClient, key: string, namespace: string): Outcome | StoredCredential => {
    const early = first.map((store) => store.get(key)).find((stored) => stored !== undefined);
    if (early !== undefined) return early;
    for (const { id, credentials } of clustersOf(open)) {
      const used = useOf(open, `${id}\0${namespace}`, () => credentials.useNamespace(namespace));
      if (!used.isRead) return unread(used);
      const found = used.store.get(key);
      if (found !== undefined) return found;
    }
    return last.map((store) => store.get(key)).find((stored) => stored !== undefined) ?? { is: "absent" };
  };
  const secretOutcome = (open: OpenClient, resource: string, wanted: CredentialName & { kind: "secret" }): Outcome => {
    const { namespace, name, isRoots } = wanted;
    const keys = isRoots ? [`${namespace}/${name}${ROOTS_SUFFIX}`, `${namespace}/${name}`] : [`${namespace}/${name}`];
    for (const key of keys) {
      open.inputs.add(key);
      const found = find(open, key, namespace);
      if (!("is" in found)) return toOutcome(resource, found, isRoots);
      if (found.is !== "absent") return found;
    }
    return { is: "problem", reason: `there is no Secret ${keys.join(" or ")}` };
  };
  const mapOutcome = (open: OpenClient, resource: string, key: string): Outcome => {
    const [near] = clustersOf(open);
    if (near === undefined) return { is: "problem", reason: "configmap:// needs a cluster" };
    const maps = [...clients].reduce((count, { used }) => count + [...used.keys()].filter(isMapUse).length, 0);
    const use = `${near.id}\0configmap ${key}`;
    if (!open.used.has(use) && maps >= MAX_CONFIG_MAPS)
      return { is: "problem", reason: `more than ${MAX_CONFIG_MAPS} ConfigMaps are asked for` };
    open.inputs.add(key);
    const used = useOf(open, use, () => near.credentials.useConfigMap(key));
    if (!used.isRead) return unread(used);
    const stored = used.store.get(key);
    return stored === undefined
      ? { is: "problem", reason: `there is no ConfigMap ${key} with ca.crt or cacert` }
      : toOutcome(resource, stored, true);
  };
  /** Why a client gets no Secret at all. */
  const clientProblem = ({ client: { identity, clusterId } }: OpenClient): Outcome | undefined => {
    if (identity === undefined)
      return { is: "problem", reason: "the proxy has no proven identity: it has to connect over TLS with a token" };
    if (cluster !== undefined && clusterId !== "" && clusterId !== cluster.id && !remote.has(clusterId))
      return {
        is: "problem",
        reason: `the proxy is in cluster ${clusterId}, known are ${[cluster.id, ...remote.keys()].join(", ")}`,
      };
    return undefined;
  };
  const outcomeOf = (open: OpenClient, resource: string): Outcome => {
    const { identity, isRouter } = open.client;
    const refusal = clientProblem(open);
    if (refusal !== undefined || identity === undefined) return refusal ?? { is: "absent" };
    const wanted = parseCredentialName(resource, identity.namespace);
    if (wanted.kind === "invalid") return { is: "absent" };
    if (wanted.kind === "unknown") return { is: "problem", reason: wanted.problem };
    const key = `${wanted.namespace}/${wanted.name}`;
    if (wanted.kind === "config-map") return mapOutcome(open, resource, key);
    if (wanted.kind === "gateway-secret")
      return { is: "problem", reason: "kubernetes-gateway:// is for Gateways of the Gateway API alone" };
    if (wanted.namespace !== identity.namespace)
      return {
        is: "problem",
        reason: `a proxy of namespace ${identity.namespace} gets no Secret of namespace ${wanted.namespace}`,
      };
    const secret = { ...wanted, kind: "secret" } as const;
    // Roots are not confidential.
    if (!wanted.isRoots) {
      const { namespace, serviceAccount } = identity;
      open.inputs.add(accountKey(namespace, serviceAccount));
      const verdict = clustersOf(open)[0]?.reviews.verdict(namespace, serviceAccount) ?? routersAlone(isRouter);
      if (verdict.state === "asked") return { is: "waiting" };
      if (verdict.state === "denied") return { is: "problem", reason: verdict.reason };
    }
    return secretOutcome(open, resource, secret);
  };

  const pullOutcome = (open: OpenClient, { name, pullSecret }: EncodedResource): Outcome | undefined => {
    if (pullSecret === undefined) return undefined;
    const { key, complete } = pullSecret;
    const refusal = clientProblem(open);
    if (refusal !== undefined) return refusal;
    open.pullInputs.add(key);
    // The plugin is of a namespace whose rules reach the proxy, and the Secret is of the same.
    const found = find(open, key, key.slice(0, key.indexOf("/")));
    if ("is" in found)
      return found.is === "absent" ? { is: "problem", reason: `there is no Secret ${key} for ${name}` } : found;
    const login = found.reveal()[PULL_SECRET_KEY];
    if (login === undefined) return { is: "problem", reason: `Secret ${key} has no ${PULL_SECRET_KEY}` };
    return { is: "resource", resource: complete(Buffer.from(login, "base64").toString()) };
  };

  /** Each problem once, and again when it went away in between. */
  const report = ({ client }: OpenClient, outcomes: ReadonlyMap<string, Outcome>) => {
    const namespace = client.identity?.namespace ?? "";
    for (const [resource, outcome] of outcomes) {
      const key = `${namespace} ${resource}`;
      const reason =
        outcome.is === "problem" ? outcome.reason : outcome.is === "resource" ? outcome.warning : undefined;
      if (reason === undefined) reported.delete(key);
      else if (reported.get(key) !== reason) {
        reported.set(key, reason);
        errors.inc();
        const effect = outcome.is === "problem" ? "credential cannot be sent" : "credential is sent and will not work";
        log.warn(effect, { credential: resource, namespace, proxy: client.proxy, reason });
      }
    }
  };
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };

  const ofCluster = (id: string) => [...clients].filter(({ client }) => client.clusterId === id);
  const leave = async ({ id, credentials, reviews }: CredentialCluster): Promise<void> => {
    remote.delete(id);
    for (const open of ofCluster(id))
      for (const [key, used] of [...open.used]) {
        if (!key.startsWith(`${id}\0`)) continue;
        used.release();
        open.used.delete(key);
      }
    wake(ofCluster(id));
    reviews.stop();
    await credentials.stop();
  };
  return {
    changed,
    addCluster: (added) => {
      remote.set(added.id, added);
      wake(ofCluster(added.id));
      return () => leave(added);
    },
    open: (client, onChange) => {
      const open: OpenClient = {
        client,
        onChange,
        inputs: new Set(),
        pullInputs: new Set(),
        used: new Map(),
        outcomes: new Map(),
      };
      clients.add(open);
      return {
        named: (resources) => {
          open.inputs = new Set();
          open.outcomes = new Map(resources.map((resource) => [resource, outcomeOf(open, resource)]));
          report(open, open.outcomes);
          notify();
          const found = [...open.outcomes.values()].flatMap((outcome) =>
            outcome.is === "resource" ? [outcome.resource] : [],
          );
          return createResourceSet(found);
        },
        withPullSecrets: (set) => {
          if (!set.resources.some(({ pullSecret }) => pullSecret !== undefined)) return set;
          open.pullInputs = new Set();
          const pulls = new Map<string, Outcome>();
          const completed = set.resources.flatMap((resource) => {
            const outcome = pullOutcome(open, resource);
            if (outcome !== undefined) pulls.set(resource.name, outcome);
            if (outcome?.is === "waiting") return [];
            return outcome?.is === "resource" ? outcome.resource : resource;
          });
          report(open, pulls);
          return createResourceSet(completed);
        },
        close: () => {
          clients.delete(open);
          for (const used of open.used.values()) used.release();
          if (open.outcomes.size > 0) notify();
        },
      };
    },
    problems: () =>
      mergeProblems(
        [...clients].map(({ client, outcomes }) => ({
          namespace: client.identity?.namespace ?? "",
          reasons: new Map(
            [...outcomes].flatMap(([resource, outcome]) =>
              outcome.is === "problem" ? [[resource, outcome.reason] as const] : [],
            ),
          ),
          gateways: client.gateways(),
        })),
      ),
    subscribe: (listener) => {
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    stop: async () => {
      await Promise.all([...remote.values()].map(leave));
      cluster?.reviews.stop();
      await cluster?.credentials.stop();
    },
  };
}

/** Of the rights of an account, among the inputs of an answer. */
export function accountKey(namespace: string, account: string): string {
  return `account ${namespace}/${account}`;
}

/** An API server that refuses is not waited for in silence. */
function unread({ problem }: UsedCredentials): Outcome {
  return problem === undefined ? { is: "waiting" } : { is: "problem", reason: problem };
}

function isMapUse(use: string): boolean {
  return use.includes("\0configmap ");
}

/** Without a cluster there is no account to ask about: who serves as a gateway in a namespace has its Secrets. */
function routersAlone(isRouter: boolean) {
  return isRouter
    ? ({ state: "allowed" } as const)
    : ({ state: "denied", reason: "without a cluster only gateways (router) get Secrets" } as const);
}
