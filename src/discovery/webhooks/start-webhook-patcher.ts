import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { fields, labelsOf, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import type { KubernetesSource } from "../kubernetes-source.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { ALWAYS_REJECT } from "./review-rule.ts";

export interface WebhookPatcherOptions {
  readonly api: ClusterApi;
  readonly source: KubernetesSource;
  readonly plural: "mutatingwebhookconfigurations" | "validatingwebhookconfigurations";
  /** Configurations labelled `istio.io/rev` with it are ours. */
  readonly revision: string;
  /** Entries whose name ends so; empty: all. */
  readonly entrySuffix: string;
  /** PEM, at any time. */
  caBundle(): string;
  /** Why `failurePolicy: Ignore` has to stay; undefined: it becomes Fail. Absent: the policy is not touched. */
  readonly notReady?: () => Promise<string | undefined>;
  readonly metrics: WebhookMetrics;
  readonly log: Logger;
}

export interface WebhookPatcher extends Handle {
  /** The CA bundle has changed. */
  refresh(): void;
}

interface Entry {
  readonly name: string;
  /** Base64, as it is stored. */
  readonly caBundle: string;
  readonly failurePolicy: string;
}

interface Configuration {
  readonly revision: string;
  readonly entries: readonly Entry[];
}

/** Why a configuration is not written, as the reference counts it; only a failed update is tried again. */
type PatchFailure =
  | "load_ca_bundle_failure"
  | "webhook_config_not_found"
  | "webhook_entry_not_found"
  | "webhook_update_failure"
  | "wrong_revision";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
/** Under which name the API server records who wrote the fields: `caBundle`, and `failurePolicy` of the validation. */
const FIELD_MANAGER = "pilot-agent-webhooks";
const RETRY: BackoffOptions = { initialMs: 100, maxMs: 60_000, factor: 2, jitter: 0.2 };
const GROUP = { group: "admissionregistration.k8s.io", version: "v1" };

/**
 * Keeps the CA bundle of own webhook configurations right. A write holds nothing but the fields that differ, and names the entry it is
 * for: one that was moved meanwhile fails the write instead of another's being changed. Equal replicas make equal writes.
 */
export function startWebhookPatcher(options: WebhookPatcherOptions): WebhookPatcher {
  const { api, source, plural, revision, metrics, log } = options;
  const known = new Map<string, readonly Entry[]>();
  const timers = new Map<string, NodeJS.Timeout>();
  const writing = new Set<Promise<void>>();
  let isReady = false;
  let stopped = false;

  const schedule = (name: string, failures = 0) => {
    if (stopped || timers.has(name) || !known.has(name)) return;
    const begin = () => {
      timers.delete(name);
      const written = write(name, failures).finally(() => writing.delete(written));
      writing.add(written);
    };
    timers.set(name, setTimeout(begin, failures === 0 ? 0 : backoffDelayMs(RETRY, failures)));
  };
  /** Whether the policy may become Fail; asked only where that would change something. */
  const allowsFail = async (entries: readonly Entry[]): Promise<boolean> => {
    if (options.notReady === undefined || !entries.some(({ failurePolicy }) => failurePolicy === "Ignore"))
      return false;
    if (isReady) return true;
    const reason = await options.notReady();
    isReady = reason === undefined;
    if (reason !== undefined) log.debug("validation is not required yet", { reason });
    return isReady;
  };
  const write = async (name: string, failures: number): Promise<void> => {
    try {
      if (!CERTIFICATE.test(options.caBundle())) return void failed(name, "load_ca_bundle_failure");
      // The bundle first: without it the API server cannot ask us anything.
      await apply(name, (entries) => patchFor(entries, options.entrySuffix, encoded(options.caBundle()), false));
      const entries = known.get(name) ?? [];
      const wantsFail = await allowsFail(entries);
      if (wantsFail) await apply(name, (now) => patchFor(now, options.entrySuffix, encoded(options.caBundle()), true));
      else if (options.notReady !== undefined && entries.some(({ failurePolicy }) => failurePolicy === "Ignore"))
        schedule(name, failures + 1);
    } catch (thrown) {
      if (stopped) return;
      if (errorCode(thrown) === "not-found") return void failed(name, "webhook_config_not_found");
      metrics.patchRetries.inc([name]);
      failed(name, "webhook_update_failure");
      const level = failures === 5 || failures % 20 === 19 ? "warn" : "debug";
      log[level]("webhook configuration cannot be written, trying again", { name, error: errorMessage(thrown) });
      schedule(name, failures + 1);
    }
  };
  const apply = async (name: string, patchOf: (entries: readonly Entry[]) => readonly object[]): Promise<void> => {
    const patch = patchOf(known.get(name) ?? []);
    if (patch.length === 0) return;
    metrics.patchAttempts.inc([options.entrySuffix || name]);
    const written = await api.patch({ ...GROUP, plural }, name, patch, { type: "json", fieldManager: FIELD_MANAGER });
    // What follows must not wait for the watch.
    if (known.has(name)) known.set(name, entriesOf(written));
    log.info("webhook configuration is written", { name, fields: fieldsOf(patch) });
  };
  const failed = (name: string, reason: PatchFailure) => metrics.patchFailures.inc([name, reason]);
  const watch = source.watch<Configuration>({
    resource: { ...GROUP, plural },
    reduce: (object) => {
      const label = labelsOf(object.metadata?.labels)["istio.io/rev"];
      return label === undefined ? undefined : { revision: label, entries: entriesOf(object) };
    },
    onChange: (name, after, before) => {
      if (after?.revision === revision) {
        known.set(name, after.entries);
        const has = after.entries.some((entry) => entry.name.endsWith(options.entrySuffix));
        if (!has) return failed(name, "webhook_entry_not_found");
        return schedule(name);
      }
      known.delete(name);
      if (after !== undefined && before?.revision === revision) failed(name, "wrong_revision");
    },
  });
  return toHandle({
    refresh: () => {
      for (const name of known.keys()) schedule(name);
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await watch.stop();
      await Promise.all(writing);
    },
  });
}

function entriesOf(object: unknown): readonly Entry[] {
  return listOf(fields(object).webhooks).map(({ name, clientConfig, failurePolicy }) => ({
    name: textOf(name),
    caBundle: textOf(fields(clientConfig).caBundle),
    failurePolicy: textOf(failurePolicy),
  }));
}

/** Operations for the fields that differ; none when all is as it should be. */
function patchFor(
  entries: readonly Entry[],
  suffix: string,
  caBundle: string,
  requiresValidation: boolean,
): readonly object[] {
  return entries.flatMap((entry, index) => {
    if (!entry.name.endsWith(suffix)) return [];
    const path = `/webhooks/${index}`;
    const changes = [
      ...(entry.caBundle === caBundle ? [] : [{ op: "add", path: `${path}/clientConfig/caBundle`, value: caBundle }]),
      ...(requiresValidation && entry.failurePolicy === "Ignore"
        ? [{ op: "add", path: `${path}/failurePolicy`, value: "Fail" }]
        : []),
    ];
    return changes.length === 0 ? [] : [{ op: "test", path: `${path}/name`, value: entry.name }, ...changes];
  });
}

function fieldsOf(patch: readonly object[]): string {
  const names = patch.flatMap((each) =>
    "op" in each && each.op === "add" && "path" in each ? String(each.path).split("/").at(-1) : [],
  );
  return [...new Set(names)].join(",");
}

function encoded(pem: string): string {
  return Buffer.from(pem).toString("base64");
}

/** Kubernetes' words for an object that a webhook has refused, and for one that it cannot be asked about in a dry run. */
const DENIED = "denied the request";
const NO_DRY_RUN = "does not support dry run";

/**
 * Why a bad rule object would not be refused yet; undefined when it was: from then on the validation can be required.
 * Asked with the dry run of an object that is always refused. Without the kind there is nothing that could be asked.
 */
export async function notReachedReason(
  api: ClusterApi,
  { namespace, revision }: { readonly namespace: string; readonly revision: string },
): Promise<string | undefined> {
  const resource = { group: "networking.istio.io", version: "v1", plural: "gateways", namespace };
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: {
      name: "invalid-gateway",
      namespace,
      labels: { "istio.io/rev": revision },
      annotations: { [ALWAYS_REJECT]: "true" },
    },
    spec: {},
  };
  try {
    await api.create(resource, object, { isDryRun: true });
    return "an invalid object was not refused";
  } catch (thrown) {
    const text = errorMessage(thrown);
    if (text.includes(DENIED) || text.includes(NO_DRY_RUN) || errorCode(thrown) === "not-found") return undefined;
    return text;
  }
}
