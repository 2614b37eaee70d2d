import { expect, test } from "vitest";
import { SECRET_TYPE } from "../../src/xds/type-urls.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { gatewayNode, tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const named = (kind: string, name: string, namespace?: string) => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  });
  await kubernetes.apply(manifests(...["istio-system", "shop", "edge"].map((name) => named("Namespace", name))));
  await kubernetes.apply(
    manifests(named("ServiceAccount", "gateway", "edge"), named("ServiceAccount", "reader", "shop")),
  );
  await kubernetes.apply(ruleDefinitions(["Gateway", "VirtualService", "EnvoyFilter"]));
  const server = opened.add(await start(kubernetes.kubeconfig, "a"));
  return { kubernetes, server };
});

function manifests(...objects: readonly object[]): readonly Manifest[] {
  return objects as readonly Manifest[];
}

const start = (kubeconfig: string, podName: string) =>
  startDiscoveryServer({ kubernetes: { kubeconfig, environment: {}, writesStatus: true }, podName });

const rule = (name: string, http: readonly object[]) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "shop" },
  spec: { hosts: [`${name}.example`], http },
});
const GOOD = [{ route: [{ destination: { host: "web" } }] }];

interface Stored {
  readonly metadata: { readonly resourceVersion: string; readonly generation: number };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
    readonly observedGeneration?: number;
    readonly validationMessages?: readonly { readonly level: string }[];
  };
}

async function read(namespace: string, plural: string, name: string): Promise<Stored> {
  const path = `/apis/networking.istio.io/v1/namespaces/${namespace}/${plural}/${name}`;
  return (await place().kubernetes.api.json({ path })) as unknown as Stored;
}

/** `Type=Status/Reason` of the conditions. */
async function conditionsOf(namespace: string, plural: string, name: string): Promise<readonly string[]> {
  const { status } = await read(namespace, plural, name);
  return (status?.conditions ?? []).map(({ type, status: value, reason = "" }) => `${type}=${value}/${reason}`);
}

interface KubernetesEvent {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly count: number;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

async function eventsOf(namespace: string, kind: string, name: string): Promise<readonly KubernetesEvent[]> {
  const { items } = (await place().kubernetes.api.json({ path: `/api/v1/namespaces/${namespace}/events` })) as {
    readonly items: readonly KubernetesEvent[];
  };
  return items.filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name);
}

test("an invalid object says so in its status and by an Event, until it is mended; other conditions stay", async () => {
  const { kubernetes } = place();
  await kubernetes.apply(manifests(rule("web", [{}])));
  const failed = ["PassedValidation=False/Invalid", "Reconciled=False/Invalid"];
  await until(async () => expect(await conditionsOf("shop", "virtualservices", "web")).toEqual(failed));
  const { status, metadata } = await read("shop", "virtualservices", "web");
  expect(status?.observedGeneration).toBe(metadata.generation);
  expect(status?.validationMessages?.[0]?.level).toBe("ERROR");
  await until(async () =>
    expect(await eventsOf("shop", "VirtualService", "web")).toMatchObject([
      { reason: "Invalid", type: "Warning", count: 1 },
    ]),
  );
  const foreign = { status: { conditions: [...(status?.conditions ?? []), { type: "Other", status: "True" }] } };
  await kubernetes.kubectl([
    ...["-n", "shop", "patch", "virtualservice", "web", "--subresource=status", "--type=merge"],
    ...["-p", JSON.stringify(foreign)],
  ]);
  await kubernetes.apply(manifests(rule("web", GOOD)));
  const passed = ["Other=True/", "PassedValidation=True/Valid", "Reconciled=True/Reconciled"];
  await until(async () => expect(await conditionsOf("shop", "virtualservices", "web")).toEqual(passed));
  const mended = await read("shop", "virtualservices", "web");
  expect(mended.status?.observedGeneration).toBe(mended.metadata.generation);
  expect(mended.status).not.toHaveProperty("validationMessages");
});

test("an object with a member that has no effect is in force, and its status and an Event name the member", async () => {
  const { kubernetes } = place();
  const { apiVersion, metadata } = rule("idle", []);
  const server = {
    port: { number: 80, name: "http", protocol: "HTTP" },
    hosts: ["*"],
    defaultEndpoint: "127.0.0.1:8080",
  };
  const spec = { selector: { app: "edge" }, servers: [server] };
  await kubernetes.apply(manifests({ apiVersion, kind: "Gateway", metadata, spec }));
  const warned = ["PassedValidation=True/Warning", "Reconciled=True/Reconciled"];
  await until(async () => expect(await conditionsOf("shop", "gateways", "idle")).toEqual(warned));
  const stored = await read("shop", "gateways", "idle");
  expect(stored.status?.validationMessages?.[0]?.level).toBe("WARNING");
  expect(JSON.stringify(stored.status)).toContain("spec.servers[0].defaultEndpoint: has no effect");
  await until(async () =>
    expect(await eventsOf("shop", "Gateway", "idle")).toMatchObject([{ reason: "Warning", count: 1 }]),
  );
});

test("nothing is written that is equal: neither another replica nor a later change touches the object", async () => {
  const { kubernetes, server } = place();
  await kubernetes.apply(manifests(rule("calm", GOOD)));
  const done = ["PassedValidation=True/Valid", "Reconciled=True/Reconciled"];
  await until(async () => expect(await conditionsOf("shop", "virtualservices", "calm")).toEqual(done));
  const { resourceVersion } = (await read("shop", "virtualservices", "calm")).metadata;
  await using other = await start(kubernetes.kubeconfig, "b");
  await kubernetes.apply(manifests(rule("later", GOOD)));
  await until(async () => expect(await conditionsOf("shop", "virtualservices", "later")).toEqual(done));
  expect((await read("shop", "virtualservices", "calm")).metadata.resourceVersion).toBe(resourceVersion);
  const leads = "this replica writes to the cluster from now on";
  const status = (log: string) => log.split("\n").filter((line) => line.startsWith("status ") && line.includes(leads));
  expect([status(server.log.text()).length, status(other.log.text()).length]).toEqual([1, 0]);
});

test("a Gateway whose Secret is missing says so until it is there", async () => {
  const { kubernetes, server } = place();
  const gateways = "gateways";
  const account = { kind: "ServiceAccount", name: "gateway", namespace: "edge" };
  await kubernetes.kubectl([
    ...["-n", "edge", "create", "role", "secrets", "--verb=get,list,watch", "--resource=secrets"],
  ]);
  await kubernetes.kubectl([
    ...["-n", "edge", "create", "rolebinding", "secrets", "--role=secrets"],
    `--serviceaccount=${account.namespace}:${account.name}`,
  ]);
  await kubernetes.apply(manifests(tlsGateway("edge", 8443, { "a.example": "absent" })));
  const token = await kubernetes.token({ namespace: "edge", account: "gateway", audiences: ["istio-ca"] });
  await using stream = openSotw({ port: server.ports.secureGrpc, token, tls: { ca: server.discovery.rootPem } });
  stream.send({ node: gatewayNode("edge"), typeUrl: SECRET_TYPE, resourceNames: ["kubernetes://absent"] });
  const failed = ["PassedValidation=True/Valid", "Reconciled=False/CredentialMissing"];
  await until(async () => expect(await conditionsOf("edge", gateways, "gateway")).toEqual(failed));
  await until(async () =>
    expect(await eventsOf("edge", "Gateway", "gateway")).toMatchObject([
      { reason: "CredentialMissing", message: expect.stringContaining("there is no Secret edge/absent") },
    ]),
  );
  const ca = await createTestCa();
  await kubernetes.apply(manifests(tlsSecret("edge", "absent", await ca.pair(["a.example"]))));
  const passed = ["PassedValidation=True/Valid", "Reconciled=True/Reconciled"];
  await until(async () => expect(await conditionsOf("edge", gateways, "gateway")).toEqual(passed));
});

test("a proxy that refuses its configuration is named by an Event of its pod and of the patch that it may come from", async () => {
  const { kubernetes, server } = place();
  const patch = {
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name: "patch", namespace: "shop" },
    spec: {
      configPatches: [
        {
          applyTo: "CLUSTER",
          match: { context: "ANY" },
          patch: { operation: "MERGE", value: { connect_timeout: "9s" } },
        },
      ],
    },
  };
  await kubernetes.apply(manifests(patch));
  await until(() => expect(server.discovery.snapshot.configs.list("EnvoyFilter")).toHaveLength(1));
  await using stream = openSotw({ port: server.ports.grpc });
  const id = "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local";
  const node = testNode({ id, metadata: { NAMESPACE: "shop", INSTANCE_IPS: "10.0.0.1" } });
  stream.send({ node, typeUrl: URLS.CDS });
  const { nonce, versionInfo } = await stream.next();
  const errorDetail = { code: 13, message: "cluster x: no such thing" };
  stream.send({ typeUrl: URLS.CDS, responseNonce: nonce, versionInfo: "", errorDetail });
  expect(versionInfo).not.toBe("");
  for (const [kind, name] of [
    ["Pod", "web-1"],
    ["EnvoyFilter", "patch"],
  ] as const)
    await until(async () =>
      expect(await eventsOf("shop", kind, name)).toMatchObject([
        { reason: "ConfigurationRefused", message: expect.stringContaining("refused CDS: cluster x: no such thing") },
      ]),
    );
});

test("an account that may not write says once for each kind which verb and resource it lacks, and serves on", async () => {
  const { kubernetes, server } = place();
  await server.discovery.stop();
  await kubernetes.kubectl([
    ...["create", "clusterrole", "reads", "--verb=get,list,watch,create,update,patch"],
    "--resource=configmaps,namespaces,nodes,pods,services,secrets,leases.coordination.k8s.io,endpointslices.discovery.k8s.io",
  ]);
  await kubernetes.kubectl([
    ...["create", "clusterrole", "reads-rules", "--verb=get,list,watch"],
    "--resource=customresourcedefinitions.apiextensions.k8s.io,virtualservices.networking.istio.io,gateways.networking.istio.io,envoyfilters.networking.istio.io",
  ]);
  for (const role of ["reads", "reads-rules"])
    await kubernetes.kubectl([
      "create",
      "clusterrolebinding",
      role,
      `--clusterrole=${role}`,
      "--serviceaccount=shop:reader",
    ]);
  const token = await kubernetes.token({ namespace: "shop", account: "reader" });
  using folder = temporaryFolder();
  folder.write("kubeconfig", kubernetes.kubeconfigFor({ token }));
  await using limited = await start(folder.file("kubeconfig"), "c");
  await kubernetes.apply(manifests(rule("denied", [{}])));
  await until(() => {
    const text = limited.log.text();
    expect(text).toMatch(/status cannot be written.*cannot patch denied of virtualservices\.networking\.istio\.io/);
    expect(text).toMatch(/Event cannot be written.*cannot create events in namespace shop/);
  });
  expect(limited.log.text().match(/status cannot be written.*"VirtualService"/g)).toHaveLength(1);
  expect((await limited.get("/ready")).status).toBe(200);
});
