import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CloseStack } from "../../src/base/close-stack.ts";
import { SECRET_TYPE } from "../../src/xds/type-urls.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { createAuditLog } from "../support/deploy/audit-log.ts";
import { grantedRights } from "../support/deploy/granted-rights.ts";
import { NAMESPACE, RELEASES, renderChart } from "../support/deploy/render-chart.ts";
import { gatewayNode, tlsSecret } from "../support/discovery/gateway.ts";
import { kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "../support/discovery/process.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startServerProcess } from "../support/kubernetes/server-process.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { PROGRAM } from "../support/process/program.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const ACCOUNT = `system:serviceaccount:${NAMESPACE}:istiod`;
const host = "127.0.0.1";

/** Installed as a user would, except that the webhooks are reached at an address: there is no node that a Service could lead to. */
const place = sharedPlace(["kubernetes", "helm"], async (opened) => {
  const folder = mkdtempSync(join(tmpdir(), "pilot-agent-install-"));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const audit = createAuditLog(folder);
  const kubernetes = opened.add(await startKubernetes({ apiServerFlags: audit.apiServerFlags }));
  const [webhookPort = 0] = await freePorts(1);
  await install(kubernetes, webhookPort);
  const discovery = await startAsInstalled(kubernetes, webhookPort, opened);
  return { kubernetes, audit, discovery, webhookPort };
});

async function install(kubernetes: Kubernetes, port: number): Promise<void> {
  const url = `https://${host}:${port}`;
  const values = {
    base: [`base.validationURL=${url}/validate`],
    istiod: [`base.validationURL=${url}/validate`, `istiodRemote.injectionURL=${url}/inject`],
    gateway: [],
  };
  const namespace = (name: string, labels = {}) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels },
  });
  await kubernetes.apply(manifests(namespace(NAMESPACE), namespace("prod", { "istio-injection": "enabled" })));
  const rendered = await Promise.all(RELEASES.map(([chart, release]) => renderChart(chart, release, values[chart])));
  for (const text of rendered) {
    await kubernetes.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], text);
  }
  // The controller that makes it in a cluster does not run here.
  await kubernetes.apply(
    manifests({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "prod" } }),
  );
}

/** The control plane with the rights of its ServiceAccount, and no others. */
async function startAsInstalled(
  kubernetes: Kubernetes,
  webhookPort: number,
  opened: CloseStack,
): Promise<DiscoveryProcess> {
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
  const kubeconfig = await accountKubeconfig(kubernetes);
  return opened.add(
    await startDiscoveryProcess({
      ports: { host, http, grpc, secureGrpc, monitoring },
      files: {},
      env: { POD_NAME: `istiod-${http}`, POD_NAMESPACE: NAMESPACE, REVISION: "default" },
      args: [`--kubeconfig=${kubeconfig}`, "--meshConfig=/does/not/exist", `--httpsAddr=${host}:${webhookPort}`],
      isReady: async () => (await fetch(`http://${host}:${http}/ready`).catch(() => undefined))?.status === 200,
    }),
  );
}

async function accountKubeconfig(kubernetes: Kubernetes): Promise<string> {
  const token = await kubernetes.token({ namespace: NAMESPACE, account: "istiod" });
  const file = join(kubernetes.folder, "istiod.kubeconfig");
  writeFileSync(file, kubernetes.kubeconfigFor({ token }));
  return file;
}

const manifests = (...objects: readonly object[]) => objects as readonly Manifest[];

const get = async (...args: readonly string[]) =>
  JSON.parse(await place().kubernetes.kubectl(["get", ...args, "-o", "json"])) as Manifest;

async function publishedRoots(namespace: string): Promise<string> {
  await until("the roots are published", async () =>
    (await place().kubernetes.kubectl(["get", "configmaps", "-n", namespace, "-o", "name"])).includes(
      "istio-ca-root-cert",
    ),
  );
  const { data } = await get("configmap", "istio-ca-root-cert", "-n", namespace);
  return (data as Record<string, string>)["root-cert.pem"] ?? "";
}

async function untilWebhooksWork(): Promise<void> {
  await until("the webhooks have the CA bundle, and validation is required", async () => {
    const injecting = await get("mutatingwebhookconfiguration", "istio-sidecar-injector");
    const validating = await get("validatingwebhookconfiguration", "istiod-default-validator");
    return JSON.stringify(injecting).includes("caBundle") && JSON.stringify(validating).includes('"Fail"');
  });
}

test("a proxy with a token of its account gets the services of the cluster", async () => {
  const { kubernetes, discovery } = place();
  await kubernetes.apply(
    manifests(kubeService("web", { clusterIP: "10.96.0.77" }), kubeSlice("web", [{ address: "10.0.0.1" }])),
  );
  const ca = await publishedRoots("prod");
  const token = await kubernetes.token({ namespace: "prod", account: "default", audiences: ["istio-ca"] });
  await using stream = openSotw({ port: discovery.ports.secureGrpc, token, tls: { ca } });
  const metadata = { NAMESPACE: "prod", SERVICE_ACCOUNT: "default", INSTANCE_IPS: "10.0.0.1" };
  stream.send({ node: testNode({ metadata }), typeUrl: URLS.CDS });
  await until("the cluster of the service came", () =>
    stream.responses.some(({ resources = [] }) =>
      resources.some(({ value }) => Buffer.from(value ?? []).includes("web.prod.svc.cluster.local")),
    ),
  );
});

test("a pod of a labelled namespace is injected by the chart's webhook, with the chart's image", async () => {
  const { kubernetes } = place();
  await untilWebhooksWork();
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "app", namespace: "prod" },
    spec: { containers: [{ name: "app", image: "app" }] },
  };
  await kubernetes.kubectl(["apply", "-f", "-"], JSON.stringify(pod));
  const { spec } = await get("pod", "app", "-n", "prod");
  const { containers, initContainers } = spec as Record<
    "containers" | "initContainers",
    { name: string; image: string }[]
  >;
  const proxy = [...containers, ...initContainers].find(({ name }) => name === "istio-proxy");
  expect(proxy?.image).toBe("localhost/pilot-agent:0.1.0");
});

test("pods of the control plane and of gateways pass the strictest Pod Security level; those of gateways become gateways", async () => {
  const { kubernetes } = place();
  await untilWebhooksWork();
  await kubernetes.kubectl(["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"]);
  for (const name of ["istiod", "istio-ingressgateway"]) {
    const { spec } = await get("deployment", name, "-n", NAMESPACE);
    const { metadata, spec: podSpec } = (spec as { template: Record<"metadata" | "spec", object> }).template;
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name, namespace: NAMESPACE }, spec: podSpec };
    await kubernetes.kubectl(["create", "-f", "-"], JSON.stringify(pod));
  }
  const containersOf = async (name: string) => {
    const { spec } = await get("pod", name, "-n", NAMESPACE);
    return (spec as { containers: { image: string; args: string[] }[] }).containers;
  };
  const image = "localhost/pilot-agent:0.1.0";
  expect(await containersOf("istiod")).toMatchObject([{ image, args: expect.arrayContaining(["discovery"]) }]);
  expect(await containersOf("istio-ingressgateway")).toMatchObject([
    { image, args: expect.arrayContaining(["router"]) },
  ]);
});

test("a gateway of another namespace gets the certificate behind its credentialName", async () => {
  const { kubernetes, discovery } = place();
  await kubernetes.kubectl(["create", "namespace", "edge"]);
  const gateway = await renderChart("gateway", "istio-edge", [], "edge");
  await kubernetes.kubectl(["apply", "--server-side", "-f", "-"], gateway);
  const pair = await (await createTestCa()).pair(["a.example"]);
  await kubernetes.apply(manifests(tlsSecret("edge", "certificate", pair)));
  const token = await kubernetes.token({ namespace: "edge", account: "istio-edge", audiences: ["istio-ca"] });
  await using stream = openSotw({ port: discovery.ports.secureGrpc, token, tls: { ca: await publishedRoots("edge") } });
  const node = gatewayNode("edge", "istio-edge");
  stream.send({ node, typeUrl: SECRET_TYPE, resourceNames: ["kubernetes://certificate"] });
  await until("the certificate came", () =>
    stream.responses.some(({ resources = [] }) =>
      resources.some(({ value }) => Buffer.from(value ?? []).includes("-----BEGIN CERTIFICATE-----")),
    ),
  );
});

test("a rule object with a mistake is refused with the reason", async () => {
  await untilWebhooksWork();
  const rule = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "web", namespace: "prod" },
    spec: { hosts: ["web"], http: [{ timeout: "0s", route: [{ destination: { host: "web" } }] }] },
  };
  await expect(place().kubernetes.kubectl(["apply", "-f", "-"], JSON.stringify(rule))).rejects.toThrow(
    "duration must be greater than 1ms",
  );
});

test("the control plane holds its lease", async () => {
  await until("the lease has a holder", async () => {
    const { items } = (await get("leases", "-n", NAMESPACE)) as unknown as {
      items: { spec: { holderIdentity?: string } }[];
    };
    return items.some(({ spec }) => spec.holderIdentity?.startsWith("istiod-"));
  });
});

/** Rights for what these tests do not bring about, by its cause. */
const OTHER_SITUATIONS: Readonly<Record<string, readonly string[]>> = {
  "the root is renewed": ["patch secrets", "patch configmaps"],
  "the lease is renewed, seconds after it was taken": ["update leases.coordination.k8s.io"],
  "a workload outside of the cluster registers": [
    ...["get", "create", "patch", "delete"].map((verb) => `${verb} workloadentries.networking.istio.io`),
    "patch workloadentries/status.networking.istio.io",
  ],
};

test("nothing that the control plane asks for is denied, and it is granted nothing that it does not ask for", async () => {
  await untilWebhooksWork();
  const asked = place().audit.requests(ACCOUNT);
  expect(asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
  expect(place().discovery.output()).not.toMatch(/forbidden/i);
  const used = new Set(asked.map(({ verb, resource }) => `${verb} ${resource}`));
  const roles = [
    await get("clusterrole", `istiod-clusterrole-${NAMESPACE}`),
    await get("role", "istiod", "-n", NAMESPACE),
  ];
  // API servers before 1.34 do not stream lists: what is watched is listed there.
  const rights = roles.flatMap(grantedRights).map((right) => right.replace(/^list /, "watch "));
  const situations = Object.values(OTHER_SITUATIONS).flat();
  expect(new Set(rights.filter((right) => !used.has(right) && !situations.includes(right)))).toEqual(new Set());
  expect(situations.filter((right) => !rights.includes(right))).toEqual([]);
});

test("rights that are taken away are named with verb and resource in the log of a control plane that lacks them", async () => {
  const { kubernetes } = place();
  const role = await get("clusterrole", `istiod-clusterrole-${NAMESPACE}`);
  const lesser = JSON.stringify(role).replace('"endpointslices"', '"other"').replace('"virtualservices"', '"other"');
  await kubernetes.kubectl(["replace", "-f", "-"], lesser);
  const logFile = join(kubernetes.folder, "lesser.log");
  const ports = ["httpAddr", "grpcAddr", "secureGRPCAddr", "monitoringAddr", "httpsAddr"].map(
    (flag) => `--${flag}=${host}:0`,
  );
  const started = startServerProcess({
    name: "control plane",
    program: PROGRAM,
    args: ["discovery", `--kubeconfig=${await accountKubeconfig(kubernetes)}`, ...ports],
    logFile,
    isDetached: false,
  });
  try {
    for (const resource of ["endpointslices", "virtualservices"]) {
      await until(() =>
        expect(readFileSync(logFile, "utf8")).toMatch(new RegExp(`cannot (list|watch) resource .{0,3}${resource}`)),
      );
    }
  } finally {
    await started.kill();
    await kubernetes.kubectl(
      ["replace", "--force", "-f", "-"],
      JSON.stringify({ ...role, metadata: { name: role.metadata.name } }),
    );
  }
});

test("what is applied again comes into force over what the control plane wrote, which it writes again", async () => {
  const { kubernetes, webhookPort } = place();
  await untilWebhooksWork();
  await install(kubernetes, webhookPort);
  await untilWebhooksWork();
});
