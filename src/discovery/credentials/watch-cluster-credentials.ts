import { CREDENTIAL_KEYS } from "../../istio-api/decode/decode-credential.ts";
import { fields, type KubernetesObject, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource, ObjectWatch, WatchedResource } from "../kubernetes-source.ts";
import { type CredentialData, type CredentialStore, createCredentialTable } from "./create-credential-table.ts";

/** Credentials of a cluster, followed only while somebody uses them. */
export interface ClusterCredentials {
  /** All Secrets of a namespace that hold certificates or keys. */
  useNamespace(namespace: string): UsedCredentials;
  /** One ConfigMap; `namespace/name`. */
  useConfigMap(key: string): UsedCredentials;
  stop(): Promise<void>;
}

export interface UsedCredentials {
  readonly store: CredentialStore;
  /** Before it nothing can be said about what there is. */
  readonly isRead: boolean;
  /** Why it is not read. */
  readonly problem: string | undefined;
  release(): void;
}

interface Shared {
  readonly store: CredentialStore;
  readonly watch: ObjectWatch;
  isRead: boolean;
  users: number;
  /** Looks for a watch that the API server refuses. */
  readonly looking: NodeJS.Timeout;
}

/** Of no use here, and in most clusters most of what Secrets hold. */
const NOT_CREDENTIALS = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/** How often a watch that has not begun is looked at. */
const LOOK_MS = 1000;

/** `onChange`: the credential of this key is another than before; undefined: all of some namespace have been read. */
export function watchClusterCredentials(
  source: KubernetesSource,
  onChange: (key: string | undefined) => void,
): ClusterCredentials {
  const shared = new Map<string, Shared>();
  const stopping = new Set<Promise<void>>();
  const begin = (resource: WatchedResource, read: (object: KubernetesObject) => CredentialData | undefined): Shared => {
    const table = createCredentialTable();
    const watch = source.watch<CredentialData>({
      resource,
      reduce: read,
      onChange: (key, after) => table.set(key, after),
    });
    let reported: string | undefined;
    const looking = setInterval(() => {
      const problem = problemOf(watch);
      if (problem !== reported) onChange(undefined);
      reported = problem;
    }, LOOK_MS);
    const started: Shared = { store: table, watch, isRead: false, users: 0, looking };
    table.subscribe((key) => {
      if (started.isRead) onChange(key);
    });
    void watch.synced.then(() => {
      started.isRead = true;
      clearInterval(looking);
      onChange(undefined);
    });
    return started;
  };
  const use = (key: string, make: () => Shared): UsedCredentials => {
    const found = shared.get(key) ?? make();
    shared.set(key, found);
    found.users += 1;
    return {
      store: found.store,
      get isRead() {
        return found.isRead;
      },
      get problem() {
        return found.isRead ? undefined : problemOf(found.watch);
      },
      release: () => {
        found.users -= 1;
        if (found.users > 0 || shared.get(key) !== found) return;
        shared.delete(key);
        clearInterval(found.looking);
        const stopped = found.watch.stop().finally(() => stopping.delete(stopped));
        stopping.add(stopped);
      },
    };
  };
  const core = { group: "", version: "v1" };
  return {
    useNamespace: (namespace) =>
      use(`secrets/${namespace}`, () =>
        begin({ ...core, plural: "secrets", namespace, fieldSelector: NOT_CREDENTIALS }, (object) =>
          knownKeys(fields(fields(object).data)),
        ),
      ),
    useConfigMap: (key) =>
      use(`configmaps/${key}`, () => {
        const [namespace = "", name = ""] = key.split("/");
        return begin({ ...core, plural: "configmaps", namespace, name }, (object) => {
          const texts = Object.entries(fields(fields(object).data));
          return knownKeys(
            Object.fromEntries(texts.map(([member, text]) => [member, Buffer.from(textOf(text)).toString("base64")])),
          );
        });
      }),
    stop: async () => {
      for (const { looking } of shared.values()) clearInterval(looking);
      await Promise.all([...[...shared.values()].map(({ watch }) => watch.stop()), ...stopping]);
      shared.clear();
    },
  };
}

function problemOf(watch: ObjectWatch): string | undefined {
  return watch.freshness?.().problem;
}

/** Undefined for what holds neither certificates nor keys: it takes no memory. */
function knownKeys(data: Readonly<Record<string, unknown>>): CredentialData | undefined {
  const found = CREDENTIAL_KEYS.flatMap((key) => (typeof data[key] === "string" ? [[key, data[key]] as const] : []));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
