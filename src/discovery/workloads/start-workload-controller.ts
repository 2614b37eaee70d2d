import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { type ConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import type { WorkloadEntrySettings } from "../../settings/discovery-settings.ts";
import type { EntryWriter } from "./create-entry-writer.ts";
import type { HealthCondition, WorkloadStore } from "./create-workload-store.ts";
import { REGISTRATION, registeredName, workloadEntryOf } from "./workload-entry-of.ts";

/** A stream, as far as its workload is concerned. */
export interface WorkloadStream {
  readonly id: string;
  readonly node: ProxyNode;
  /** Proven; empty on plaintext. */
  readonly identities: readonly string[];
}

/** What the ADS server reports of its streams. */
export interface WorkloadStreams {
  /** Why the stream is refused; undefined when it is welcome. */
  connected(stream: WorkloadStream): string | undefined;
  /** An empty error means healthy. */
  reported(stream: WorkloadStream, error: string | undefined): void;
  disconnected(stream: WorkloadStream): void;
}

export interface WorkloadController extends Handle, WorkloadStreams {}

export interface WorkloadControllerOptions {
  readonly store: WorkloadStore;
  readonly settings: WorkloadEntrySettings;
  /** Of this control plane; in the entry's annotations. */
  readonly controller: string;
  /** Where entries are stored besides; in memory alone when absent. */
  readonly writer?: EntryWriter | undefined;
  /** Whether entries of the group are stored there. */
  readonly isStored?: (group: ConfigObject<"WorkloadGroup"> | ConfigObject<"WorkloadEntry">) => boolean;
  readonly log: Logger;
}

interface Followed {
  readonly ref: ObjectRef;
  readonly isRegistered: boolean;
  readonly streams: Set<string>;
  /** Written to the cluster. */
  readonly isWritten: boolean;
  /** Of the latest stream. */
  connectedAt: number;
  end?: NodeJS.Timeout | undefined;
}

/** An API server that is away must not keep a server from ending. */
const FLUSH_MS = 2000;

/** Registers workloads by their streams and takes their health reports over. */
export function startWorkloadController(options: WorkloadControllerOptions): WorkloadController {
  const { store, settings, controller, writer, isStored = () => false, log } = options;
  const followed = new Map<string, Followed>();
  const byStream = new Map<string, Followed>();

  const follow = (stream: WorkloadStream, ref: ObjectRef, isRegistered: boolean, isWritten: boolean) => {
    const key = objectKey(ref);
    const connectedAt = Date.now();
    const entry = followed.get(key) ?? { ref, isRegistered, isWritten, connectedAt, streams: new Set<string>() };
    entry.connectedAt = connectedAt;
    clearTimeout(entry.end);
    entry.end = undefined;
    entry.streams.add(stream.id);
    followed.set(key, entry);
    byStream.set(stream.id, entry);
    return entry;
  };
  /** Other replicas see the entry, and that this one has its workload. */
  const write = async ({ ref, connectedAt, isWritten }: Followed, document: object | undefined) => {
    if (isWritten && (await writer?.connected(ref, connectedAt, document))) store.stored(ref);
  };
  const register = (stream: WorkloadStream, groupName: string): string | undefined => {
    const { node } = stream;
    const ref = { kind: "WorkloadEntry", namespace: node.namespace, name: registeredName(groupName, node) } as const;
    const existing = store.snapshot.get(ref.kind, ref.namespace, ref.name);
    const group = store.snapshot.get("WorkloadGroup", node.namespace, groupName);
    if (group === undefined && existing === undefined)
      return `cannot find WorkloadGroup ${node.namespace}/${groupName}`;
    const account = existing?.spec.serviceAccount ?? group?.spec.template?.serviceAccount ?? "";
    const refusal = identityRefusal(stream, account, settings);
    if (refusal !== undefined) return refusal;
    const known = followed.get(objectKey(ref));
    const source = group ?? existing;
    const entry = follow(stream, ref, true, source !== undefined && isStored(source));
    const registration = { controller, connectedAt: entry.connectedAt };
    const document = group === undefined ? undefined : workloadEntryOf(node, group, registration);
    // A stream that comes again within the grace period finds its entry, and so does one that was connected to another replica.
    if (existing !== undefined && (known !== undefined || entry.isWritten)) {
      void write(entry, document);
      return undefined;
    }
    if (document === undefined) return undefined;
    const result = store.register(document);
    if (result.stored) void write(entry, document);
    if (result.stored) log.info("workload registered", { entry: `${ref.namespace}/${ref.name}`, group: groupName });
    else {
      const problems = result.problems.map(({ field, message }) => `${field}: ${message}`).join("; ");
      log.warn("workload cannot be registered", { entry: `${ref.namespace}/${ref.name}`, problems });
    }
    return undefined;
  };
  const attach = (stream: WorkloadStream, name: string): string | undefined => {
    const { namespace } = stream.node;
    const entry = store.snapshot.get("WorkloadEntry", namespace, name);
    if (entry === undefined)
      return `the node's metadata names a WorkloadEntry that does not exist: ${namespace}/${name}`;
    if (!takesReports(entry)) return undefined;
    const refusal = identityRefusal(stream, entry.spec.serviceAccount, settings);
    if (refusal === undefined)
      void write(follow(stream, { kind: "WorkloadEntry", namespace, name }, false, isStored(entry)), undefined);
    return refusal;
  };
  const leave = (entry: Followed) => {
    followed.delete(objectKey(entry.ref));
    const { namespace, name } = entry.ref;
    if (entry.isWritten) writer?.expired(entry.ref);
    if (entry.isRegistered) {
      store.unregister(entry.ref);
      log.info("workload unregistered", { entry: `${namespace}/${name}` });
    }
  };

  return toHandle({
    connected: (stream: WorkloadStream) => {
      const { AUTO_REGISTER_GROUP: group, WORKLOAD_ENTRY: entry } = stream.node.metadata;
      if (settings.registers && isName(group)) return register(stream, group);
      return settings.takesHealth && isName(entry) ? attach(stream, entry) : undefined;
    },
    reported: (stream: WorkloadStream, error: string | undefined) => {
      const entry = byStream.get(stream.id);
      if (entry === undefined || !settings.takesHealth) return;
      const at = new Date().toISOString();
      const condition: HealthCondition = {
        type: "Healthy",
        status: error === undefined ? "True" : "False",
        ...(error !== undefined && { message: error }),
        lastProbeTime: at,
        lastTransitionTime: at,
      };
      store.report(entry.ref, condition);
      if (entry.isWritten) writer?.reported(entry.ref, condition);
      const { namespace, name } = entry.ref;
      log.info(error === undefined ? "workload is healthy" : "workload is not healthy", {
        entry: `${namespace}/${name}`,
        error,
      });
    },
    disconnected: (stream: WorkloadStream) => {
      const entry = byStream.get(stream.id);
      byStream.delete(stream.id);
      if (entry === undefined || !entry.streams.delete(stream.id) || entry.streams.size > 0) return;
      if (entry.isWritten) {
        writer?.disconnected(entry.ref, entry.connectedAt);
        // From now on what the cluster says counts: the workload may report to another replica.
        store.report(entry.ref, undefined);
      }
      if (entry.isRegistered || entry.isWritten) entry.end = setTimeout(() => leave(entry), settings.graceMs);
      else followed.delete(objectKey(entry.ref));
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      for (const { end } of followed.values()) clearTimeout(end);
      await writer?.flush(FLUSH_MS);
    },
  });
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function takesReports({ annotations }: ConfigObject<"WorkloadEntry">): boolean {
  return annotations[REGISTRATION.healthChecks] === "true";
}

function identityRefusal(
  { node, identities }: WorkloadStream,
  serviceAccount: string,
  { validatesIdentity }: WorkloadEntrySettings,
): string | undefined {
  if (!validatesIdentity) return undefined;
  const proven = identities.map(parseSpiffe).find((identity) => identity !== undefined);
  if (proven === undefined) return "registration of a WorkloadEntry requires a verified identity";
  if (proven.namespace !== node.namespace)
    return `registration of a WorkloadEntry: namespace mismatch: "${proven.namespace}" vs "${node.namespace}"`;
  if (serviceAccount !== "" && proven.serviceAccount !== serviceAccount)
    return `registration of a WorkloadEntry: service account mismatch: "${proven.serviceAccount}" vs "${serviceAccount}"`;
  return undefined;
}
