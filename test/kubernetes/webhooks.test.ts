import { expect, test } from "vitest";
import { startAdmissionServer } from "../../src/admission/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { COMMANDS } from "../../src/cli/commands/list.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { runWords } from "../support/cli/run-words.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { injector, validator } from "../support/webhooks/configurations.ts";
import { answerOf, podOf, reviewOf } from "../support/webhooks/injector.ts";
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
      // Not there: the mesh config is that of the cluster.
      meshConfigFile: "./etc/istio/config/none",
    });
  const server = opened.add(await start());
  await kubernetes.apply(manifests(injector(port), validator(port)));
  await untilPatched(kubernetes);
  return { kubernetes, server, port };
});

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

test("the injection config and the mesh config of ConfigMaps count from the next pod on, and a bad one leaves the last in force", async () => {
  const { kubernetes, server } = place();
  const map = (name: string, data: object) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "istio-system" },
    data,
  });
  const shown = async () => JSON.stringify(await create(kubernetes, pod("", { generateName: "settings-" })));
  await kubernetes.apply(
    manifests(
      map("istio-sidecar-injector", { config: "policy: enabled", values: "global: {hub: hub.example}" }),
      map("istio", { mesh: "defaultConfig: {proxyMetadata: {FROM_MESH: one}}" }),
    ),
  );
  await until("both count", async () => {
    const text = await shown();
    return text.includes("hub.example/") && text.includes("FROM_MESH");
  });
  const templates = async (): Promise<unknown> => (await server.get("/debug/inject")).json();
  const builtin = Object.fromEntries(
    ["sidecar", "gateway", "grpc-simple", "grpc-agent"].map((name) => [name, "(built in)"]),
  );
  expect(await templates()).toEqual(builtin);
  const refused = () =>
    server.log.lines.filter(({ message }) => message === "injection config cannot be used").map(({ fields }) => fields);
  await kubernetes.apply(
    manifests(
      map("istio-sidecar-injector", { config: "templates: {sidecar: '{{ if }}'}", values: "global: {hub: other}" }),
    ),
  );
  await until("it is refused with source and line", () =>
    expect(String(refused().at(-1)?.error)).toMatch(
      /istio-system\/istio-sidecar-injector, key config: template "sidecar": template: inject:1/,
    ),
  );
  expect(await shown()).toContain("hub.example");
  await kubernetes.delete(manifests(map("istio-sidecar-injector", {}))[0] as Manifest);
  await until("the loss is logged", () => expect(String(refused().at(-1)?.error)).toMatch(/is gone/));
  expect(await shown()).toContain("hub.example");
  // The command reads the same.
  using folder = temporaryFolder();
  const cluster = ["--kubeconfig", kubernetes.kubeconfig, "--injectConfigMapName", "istio-sidecar-injector"];
  const words = ["kube-inject", "-f", folder.write("pod.yaml", pod("web")), ...cluster];
  const without = await runWords({ words, commands: COMMANDS, env: {} });
  expect(without.stderr).toMatch(/ConfigMap "istio-sidecar-injector" is not in namespace "istio-system": name it with/);
  await kubernetes.apply(
    manifests(map("istio-sidecar-injector", { config: "", values: "global: {hub: third.example}" })),
  );
  const { stdout, stderr, code } = await runWords({ words, commands: COMMANDS, env: {} });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toContain("third.example/proxyv2");
  expect(stdout).toContain("FROM_MESH");
});

test("kube-inject asks the cluster's webhook, says who injected, and ends with its reason where it refuses", async () => {
  const { kubernetes } = place();
  using folder = temporaryFolder();
  const deployment = (annotations = {}, labels = {}) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop", namespace: "apps" },
    spec: {
      selector: { matchLabels: { app: "shop" } },
      template: {
        metadata: { labels: { app: "shop", ...labels }, annotations },
        spec: { containers: [{ name: "app", image: "shop:1" }] },
      },
    },
  });
  const run = (object: object, ...more: readonly string[]) => {
    const words = ["kube-inject", "-f", folder.write("in.yaml", JSON.stringify(object)), ...more];
    return runWords({ words: [...words, "--kubeconfig", kubernetes.kubeconfig], commands: COMMANDS, env: {} });
  };
  // Of the cluster alone: a command that renders by itself knows nothing of ProxyConfig objects.
  const rule = {
    apiVersion: "networking.istio.io/v1beta1",
    kind: "ProxyConfig",
    metadata: { name: "shop", namespace: "apps" },
    spec: { selector: { matchLabels: { app: "shop" } }, environmentVariables: { FROM_WEBHOOK: "yes" } },
  };
  await kubernetes.apply(manifests(rule));
  await until(async () => expect((await run(deployment())).stdout).toContain("FROM_WEBHOOK"));
  const { code, stdout, stderr } = await run(deployment());
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/name: ISTIO_META_WORKLOAD_NAME\n\s+value: shop/);
  expect(stdout).toContain("kubernetes://apis/apps/v1/namespaces/apps/deployments/shop");
  // What told the webhook who owns the pod is not part of the result.
  expect(stdout).not.toMatch(/ownerReferences|generateName/);
  expect((await run(deployment(), "--explain")).stdout).toBe(
    'Deployment "apps/shop": injected: webhook istio-sidecar-injector injects it\n',
  );
  // kube-uninject gives the original back.
  const back = await runWords({
    words: ["kube-uninject", "-f", folder.write("injected.yaml", stdout)],
    commands: COMMANDS,
    env: {},
  });
  expect(back.stdout).not.toContain("istio");
  const unwanted = await run(deployment({}, { "sidecar.istio.io/inject": "false" }));
  expect(unwanted.stdout).not.toContain("istio-proxy");
  expect(unwanted.stderr).toContain("has sidecar injection disabled");
  const refused = await run(deployment({ "sidecar.istio.io/proxyCPU": "lots" }));
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/webhook istio-sidecar-injector refuses it: [\s\S]*sidecar\.istio\.io\/proxyCPU/);
  expect(refused.stdout).toBe("");
  // A revision without a webhook: its ConfigMaps, or which is missing.
  const other = await run(deployment(), "--revision", "canary");
  expect(other.stderr).toContain('ConfigMap "istio-canary" is not in namespace "istio-system"');
});

test("a ProxyConfig object is in the effective config of the pods it selects", async () => {
  const { kubernetes } = place();
  const rule = {
    apiVersion: "networking.istio.io/v1beta1",
    kind: "ProxyConfig",
    metadata: { name: "tuned", namespace: "apps" },
    spec: { selector: { matchLabels: { app: "tuned" } }, concurrency: 3, environmentVariables: { FROM_RULE: "yes" } },
  };
  await kubernetes.apply(manifests(rule));
  const shown = async (labels: object) =>
    JSON.stringify(await create(kubernetes, pod("", { generateName: "tuned-", labels })));
  await until("it counts", async () => (await shown({ app: "tuned" })).includes("FROM_RULE"));
  expect(await shown({ app: "tuned" })).toContain('\\"concurrency\\":3');
  expect(await shown({ app: "other" })).not.toContain("FROM_RULE");
});

test("two webhooks that both want their container last end with both, each once, whoever is asked first", async () => {
  const { kubernetes, port } = place();
  const ca = await makeCertificate({ commonName: "other" });
  const leaf = await makeCertificate({ by: ca, isCa: false, hosts: [host] });
  await using other = await startAdmissionServer({
    listen: { host, port: 0 },
    tls: () => ({ cert: leaf.pem, key: leaf.keyPem }),
    log: silentLogger,
    reviewers: { "/last": { review: ({ object }) => ({ allowed: true, patch: moveLast(object) }) } },
  });
  const both = { failurePolicy: "Fail", reinvocationPolicy: "IfNeeded" };
  await kubernetes.apply(
    manifests(injector(port, both), {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "z-other" },
      webhooks: [
        {
          ...both,
          name: "other.example.com",
          clientConfig: {
            url: `https://${host}:${"port" in other.address ? other.address.port : 0}/last`,
            caBundle: Buffer.from(ca.pem).toString("base64"),
          },
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
          namespaceSelector: { matchLabels: { "istio-injection": "enabled" } },
        },
      ],
    }),
  );
  try {
    await until("both are asked", async () => {
      const created = await create(kubernetes, pod("", { generateName: "two-" }));
      return expect(names(created.spec.containers).toSorted()).toEqual(["app", "istio-proxy", "other"]);
    });
  } finally {
    await kubernetes.kubectl(["delete", "mutatingwebhookconfiguration", "z-other"]);
  }
});

/** Adds its container, or moves it to the end. */
function moveLast(object: unknown): readonly object[] {
  const { containers } = (object as { spec: { containers: { name: string }[] } }).spec;
  const at = containers.findIndex(({ name }) => name === "other");
  if (at === containers.length - 1) return [];
  const value = { name: "other", image: "other:1" };
  const add = { op: "add", path: "/spec/containers/-", value };
  return at === -1 ? [add] : [{ op: "remove", path: `/spec/containers/${at}` }, add];
}

test("while the API server is away reviews are answered with the last settings, and configurations are patched when it is back", async () => {
  const { kubernetes, port } = place();
  const { api } = kubernetes;
  await kubernetes.kill();
  const body = reviewOf(podOf());
  const url = `https://${host}:${port}/inject`;
  const headers = { "content-type": "application/json" };
  const answer = await httpRequest({ url, method: "POST", body, headers, tls: { rejectUnauthorized: false } });
  expect(answerOf(answer).response).toMatchObject({ allowed: true, patchType: "JSONPatch" });
  await kubernetes.restart();
  const name = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/istio-sidecar-injector";
  const patch = [{ op: "remove", path: "/webhooks/0/clientConfig/caBundle" }];
  await api.json({ method: "PATCH", path: name, body: patch, contentType: "application/json-patch+json" });
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
