import { buildWebhookConfiguration } from "../../../src/inject/core/configuration/webhook-configuration.ts";
import { INJECTION_RULES } from "../../../src/inject/core/rules.ts";

const host = "127.0.0.1";

/** Asks a webhook of this machine about pods. */
export function injector(port: number, more: object = {}): object {
  return buildWebhookConfiguration({
    revision: "default",
    tag: "",
    systemNamespace: "istio-system",
    url: `https://${host}:${port}/inject`,
    serviceName: "",
    path: "/inject",
    caBundle: "",
    namespacesByDefault: false,
    selectsObjects: false,
    reinvocationPolicy: "Never",
    failurePolicy: "Fail",
    rules: INJECTION_RULES.current,
    ...more,
  });
}

/** Asks it about rule objects; not required until somebody says so. */
export function validator(port: number): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "istio-validator-istio-system", labels: { "istio.io/rev": "default" } },
    webhooks: [
      {
        name: "rev.validation.istio.io",
        clientConfig: { url: `https://${host}:${port}/validate` },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        rules: [
          {
            operations: ["CREATE", "UPDATE"],
            apiGroups: ["networking.istio.io", "security.istio.io", "telemetry.istio.io", "extensions.istio.io"],
            apiVersions: ["*"],
            resources: ["*"],
          },
        ],
      },
    ],
  };
}
