import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource } from "../kubernetes-source.ts";
import type { ClusterApi } from "./cluster-api.ts";

export interface RootPublisherOptions {
  readonly api: ClusterApi;
  readonly source: KubernetesSource;
  /** Of the ConfigMap, and of its one key. */
  readonly name: string;
  readonly key: string;
  /** The PEM bundle, at any time; undefined: there is none, and what was published stays. */
  pem(): string | undefined;
  /** Whether this replica is the one that writes. */
  isLeader(): boolean;
  readonly log: Logger;
}

export interface RootPublisher extends Handle {
  /** The bundle has changed, or this replica has become the leader. */
  refresh(): void;
}

const LABELS = { "istio.io/config": "true" };
/** Where workloads have no use for it; their controllers dislike foreign objects. */
const IGNORED = new Set(["kube-public", "kube-node-lease", "local-path-storage"]);
const RETRY: BackoffOptions = { initialMs: 500, maxMs: 60_000, factor: 2, jitter: 0.2 };

/** Keeps a ConfigMap with the mesh's roots, or what they have revoked, in every namespace: agents without another way to know mount it. */
export function startRootPublisher(options: RootPublisherOptions): RootPublisher {
  const { api, source, name, key, pem, isLeader, log } = options;
  const namespaces = new Set<string>();
  const published = new Map<string, string>();
  const timers = new Map<string, NodeJS.Timeout>();
  const writing = new Set<Promise<void>>();
  let isSynced = false;
  let stopped = false;

  const isPublished = (namespace: string, text: string | undefined): boolean =>
    text === undefined || published.get(namespace) === text;
  const schedule = (namespace: string, failures = 0) => {
    if (stopped || timers.has(namespace) || !isSynced || !isLeader()) return;
    if (!namespaces.has(namespace) || isPublished(namespace, pem())) return;
    const delayMs = failures === 0 ? 0 : backoffDelayMs(RETRY, failures);
    timers.set(
      namespace,
      setTimeout(() => {
        timers.delete(namespace);
        const written = write(namespace, failures).finally(() => writing.delete(written));
        writing.add(written);
      }, delayMs),
    );
  };
  const write = async (namespace: string, failures: number): Promise<void> => {
    const text = pem();
    if (!namespaces.has(namespace) || text === undefined || isPublished(namespace, text)) return;
    const resource = { group: "", version: "v1", plural: "configmaps", namespace };
    const map = { metadata: { labels: LABELS }, data: { [key]: text } };
    try {
      if (published.has(namespace)) await api.patch(resource, name, map, { type: "merge" });
      else {
        const object = { apiVersion: "v1", kind: "ConfigMap", ...map, metadata: { name, namespace, labels: LABELS } };
        await api.create(resource, object);
      }
      published.set(namespace, text);
    } catch (thrown) {
      const code = errorCode(thrown);
      // Of another writer, whose content the watch shows; or the namespace is on its way out.
      if (code === "already-exists" || (code === "forbidden" && !namespaces.has(namespace))) return;
      if (failures === 0 || failures % 10 === 0)
        log.warn("root certificates cannot be published", { namespace, name, error: errorMessage(thrown) });
      schedule(namespace, failures + 1);
    }
  };
  const refresh = () => {
    for (const namespace of namespaces) schedule(namespace);
  };
  const watches = [
    source.watch<boolean>({
      resource: { group: "", version: "v1", plural: "namespaces" },
      // One that is being deleted takes no new objects.
      reduce: ({ metadata = {} }) =>
        IGNORED.has(metadata.name ?? "") || metadata.deletionTimestamp !== undefined ? undefined : true,
      onChange: (namespace, after) => {
        if (after === undefined) {
          namespaces.delete(namespace);
          published.delete(namespace);
        } else {
          namespaces.add(namespace);
          schedule(namespace);
        }
      },
    }),
    source.watch<string>({
      resource: { group: "", version: "v1", plural: "configmaps", name },
      reduce: (object) => textOf(fields(fields(object).data)[key]),
      onChange: (path, after) => {
        const [namespace = ""] = path.split("/");
        if (after === undefined) published.delete(namespace);
        else published.set(namespace, after);
        schedule(namespace);
      },
    }),
  ];
  void Promise.all(watches.map(({ synced }) => synced)).then(() => {
    isSynced = true;
    refresh();
  });
  return toHandle({
    refresh,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(watches.map((watch) => watch.stop()));
      await Promise.all(writing);
    },
  });
}
