import type { InjectionRules } from "../rules.ts";
import { type EntryRule, legacyEntry, webhookEntries } from "./webhook-entries.ts";

export interface WebhookConfigurationOptions {
  /** Of the control plane; empty means default. */
  readonly revision: string;
  /** A name that stands for the revision; "default" also takes what names none. Empty: the configuration of the revision itself. */
  readonly tag: string;
  readonly systemNamespace: string;
  /** Empty: the control plane's Service. */
  readonly url: string;
  /** Empty: by the revision. */
  readonly serviceName: string;
  readonly path: string;
  /** PEM; empty: the control plane writes it. */
  readonly caBundle: string;
  readonly namespacesByDefault: boolean;
  /** 1.7 only. */
  readonly selectsObjects: boolean;
  readonly reinvocationPolicy: "Never" | "IfNeeded";
  readonly failurePolicy: "Fail" | "Ignore";
  readonly rules: InjectionRules;
}

const ENTRY = "sidecar-injector.istio.io";

/** The MutatingWebhookConfiguration by which API servers ask the injector. */
export function buildWebhookConfiguration(options: WebhookConfigurationOptions): object {
  const revision = options.revision || "default";
  const { tag, rules } = options;
  const isLegacy = rules.webhook.hasOneEntry;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: {
      name: configurationName(options, revision),
      labels: {
        "istio.io/rev": revision,
        ...(tag !== "" && { "istio.io/tag": tag }),
        app: "sidecar-injector",
        release: "istio",
        "operator.istio.io/component": "Pilot",
        "install.operator.istio.io/owning-resource": "unknown",
        ...(isLegacy && {
          "operator.istio.io/managed": "Reconcile",
          "operator.istio.io/version": "1.7.0",
          "install.operator.istio.io/owning-resource-namespace": options.systemNamespace,
        }),
      },
    },
    webhooks: entriesOf(options, revision).map((entry) => webhook(entry, options, revision)),
  };
}

function configurationName({ tag, systemNamespace }: WebhookConfigurationOptions, revision: string): string {
  const base = tag !== "" ? `istio-revision-tag-${tag}` : "istio-sidecar-injector";
  return [
    base,
    ...(tag === "" && revision !== "default" ? [revision] : []),
    ...(systemNamespace === "istio-system" ? [] : [systemNamespace]),
  ].join("-");
}

function entriesOf(options: WebhookConfigurationOptions, revision: string): readonly EntryRule[] {
  if (options.rules.webhook.hasOneEntry) return [legacyEntry({ ...options, revision })];
  const { tag } = options;
  return webhookEntries({
    ...options,
    revision: tag || revision,
    isDefault: tag === "" ? revision === "default" : tag === "default",
  });
}

function webhook({ prefix, ...selectors }: EntryRule, options: WebhookConfigurationOptions, revision: string): object {
  const { url, path, caBundle, systemNamespace: namespace, rules } = options;
  const name = options.serviceName || (revision === "default" ? "istiod" : `istiod-${revision}`);
  const isLegacy = rules.webhook.hasOneEntry;
  return {
    name: `${prefix}${ENTRY}`,
    clientConfig: {
      ...(url === "" ? { service: { name, namespace, path, port: 443 } } : { url }),
      ...(caBundle !== "" && { caBundle: Buffer.from(caBundle).toString("base64") }),
    },
    sideEffects: "None",
    rules: [
      {
        operations: ["CREATE"],
        apiGroups: [""],
        apiVersions: ["v1"],
        resources: ["pods"],
        ...(isLegacy && { scope: "*" }),
      },
    ],
    failurePolicy: options.failurePolicy,
    reinvocationPolicy: options.reinvocationPolicy,
    admissionReviewVersions: rules.webhook.reviewVersions,
    ...(isLegacy && { matchPolicy: "Exact", timeoutSeconds: 30 }),
    ...selectors,
  };
}
