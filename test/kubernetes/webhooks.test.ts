import { expect, test } from "vitest";
import { buildWebhookConfiguration } from "../../src/inject/core/configuration/webhook-configuration.ts";
import { INJECTION_RULES } from "../../src/inject/core/rules.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { webhookSettings } from "../support/webhooks/settings.ts";

const manifests = (...objects: readonly object[]) => objects as readonly Manifest[];
const host = "127.0.0.1";

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string, labels = {}) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels },
  });
  await kubernetes.apply(
    manifests(namespace("apps", { "istio-injection": "enabled" }), namespace("istio-system"), ...ruleDefinitions()),
  );
  await kubernetes.apply(
    manifests({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "apps" } }),
  );
  const [port = 0] = await freePorts(1);
  const start = () =>
    startDiscoveryServer({
      kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} },
      ports: {
        http: { host, port: 0 },
        grpc: { host, port: 0 },
        secureGrpc: { host, port: 0 },
        https: { host, port },
      },
      webhooks: webhookSettings(),
    });
  const server = opened.add(await start());
  await kubernetes.apply(manifests(injector(port), validator(port)));
  await untilPatched(kubernetes);
  return { kubernetes, server, port };
});

function injector(port: number, more: object = {}): object {
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

function validator(port: number): object {
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

interface Configuration {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly managedFields: readonly { readonly manager: string }[];
  };
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string };
    readonly failurePolicy: string;
  }[];
}

async function configuration(kubernetes: Kubernetes, kind: string, name: string): Promise<Configuration> {
  return JSON.parse(await kubernetes.kubectl(["get", kind, name, "-o", "json", "--show-managed-fields"]));
}

async function untilPatched(kubernetes: Kubernetes): Promise<void> {
  await until("both configurations have the CA bundle, and validation is required", async () => {
    const injecting = await configuration(kubernetes, "mutatingwebhookconfiguration", "istio-sidecar-injector");
    const validating = await configuration(
      kubernetes,
      "validatingwebhookconfiguration",
      "istio-validator-istio-system",
    );
    return (
      injecting.webhooks.every(({ clientConfig }) => clientConfig.caBundle !== undefined) &&
      validating.webhooks.every(({ failurePolicy }) => failurePolicy === "Fail")
    );
  });
}

const pod = (name: string, metadata: object = {}, spec: object = {}) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...(name !== "" && { name }), namespace: "apps", ...metadata },
    spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
  });

async function create(kubernetes: Kubernetes, manifest: string, ...flags: readonly string[]) {
  const printed = await kubernetes.kubectl(["create", "-f", "-", "-o", "json", ...flags], manifest);
  return JSON.parse(printed) as {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: Readonly<Record<"containers" | "initContainers", { readonly name: string }[]>>;
  };
}

const names = (containers: readonly { readonly name: string }[] = []) => containers.map(({ name }) => name);

async function metrics({ get }: DiscoveryServer): Promise<string> {
  return (await get("/metrics")).text();
}

test("a created pod has the proxy, also in a dry run, and one that says no does not, with its reason in log and metric", async () => {
  const { kubernetes, server } = place();
  const dry = await create(kubernetes, pod("web"), "--dry-run=server");
  const web = await create(kubernetes, pod("web"));
  expect(names(dry.spec.containers)).toEqual(names(web.spec.containers));
  expect(names(web.spec.containers)).toEqual(["app", "istio-proxy"]);
  expect(names(web.spec.initContainers)).toContain("istio-init");
  expect(web.metadata.annotations).toHaveProperty(["sidecar.istio.io/status"]);
  const plain = await create(kubernetes, pod("plain", { annotations: { "sidecar.istio.io/inject": "false" } }));
  expect(names(plain.spec.containers)).toEqual(["app"]);
  expect(await metrics(server)).toContain('sidecar_injection_skip_total{reason="annotation"} 1');
  expect(server.log.text()).toContain("pod is not injected");
});

test("a pod that cannot be injected is refused with what is wrong and what to do", async () => {
  const { kubernetes } = place();
  const wrong = pod("wrong", { annotations: { "status.sidecar.istio.io/port": "x" } });
  await expect(create(kubernetes, wrong)).rejects.toThrow(
    /denied the request: .*apps\/wrong.*status\.sidecar\.istio\.io\/port.*correct the annotation; to create the pod without a proxy/s,
  );
});

test("a bad rule object is refused with field and reason, a good one passes with its warnings", async () => {
  const { kubernetes, server } = place();
  const gateway = (servers: object[]) =>
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "Gateway",
      metadata: { name: "front", namespace: "apps" },
      spec: { servers },
    });
  await expect(create(kubernetes, gateway([]))).rejects.toThrow(
    /admission webhook "rev.validation.istio.io" denied the request: configuration is invalid: .*server/,
  );
  await create(kubernetes, gateway([{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }]));
  const text = await metrics(server);
  expect(text).toContain(
    'galley_validation_failed{group="networking.istio.io",version="v1",resource="gateways",reason="invalid_resource"} 1',
  );
  expect(text).toContain('galley_validation_passed{group="networking.istio.io",version="v1",resource="gateways"} 1');
});

test("configurations that are right are not written again, and one whose bundle was taken away is", async () => {
  const { kubernetes, port } = place();
  const read = () => configuration(kubernetes, "mutatingwebhookconfiguration", "istio-sidecar-injector");
  const before = await read();
  expect(before.metadata.managedFields.map(({ manager }) => manager)).toEqual(["test", "pilot-agent-webhooks"]);
  // As a GitOps tool applies what it has: it owns nothing of the bundle.
  await kubernetes.apply(manifests(injector(port)));
  expect((await read()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await kubernetes.delete(manifests(injector(port))[0] as Manifest);
  await kubernetes.apply(manifests(injector(port)));
  await untilPatched(kubernetes);
});

test("while the webhook is down, failurePolicy decides: Fail refuses pods, Ignore lets them in", async () => {
  const { kubernetes, server, port } = place();
  await server.discovery.stop();
  await expect(create(kubernetes, pod("down"))).rejects.toThrow(/failed calling webhook/);
  await kubernetes.apply(manifests(injector(port, { failurePolicy: "Ignore" })));
  await until("pods are let in", async () => {
    const created = await create(kubernetes, pod("", { generateName: "let-in-" })).catch((failure: unknown) =>
      String(failure),
    );
    return typeof created === "string" ? created : names(created.spec.containers).join() === "app";
  });
  await server.restart();
  await kubernetes.apply(manifests(injector(port)));
  await until("pods are injected again", async () => {
    const created = await create(kubernetes, pod("", { generateName: "again-" })).catch((failure: unknown) =>
      String(failure),
    );
    return typeof created === "string" ? created : names(created.spec.containers).includes("istio-proxy");
  });
});
