import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { CLUSTER_IDENTITY } from "../../src/discovery/connect-ca.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { revocationList } from "../support/certs/revocation-list.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const place = sharedPlace(["kubernetes", "openssl"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }) as Manifest;
  await kubernetes.apply([namespace("istio-system"), namespace("prod")]);
  await kubernetes.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "prod" } } as Manifest,
  ]);
  return { kubernetes };
});

const start = (podName: string) =>
  startDiscoveryServer({ kubernetes: { kubeconfig: place().kubernetes.kubeconfig, environment: {} }, podName });

const mapText = async (namespace: string, name: string, key: string): Promise<string | undefined> => {
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const { status, body } = await place().kubernetes.api.ask({ path });
  if (status === 404) return undefined;
  return (JSON.parse(body) as { data: Record<string, string> }).data[key];
};
const rootMap = (namespace: string) => mapText(namespace, "istio-ca-root-cert", "root-cert.pem");

test("control planes that start together share one root, which is in a Secret and in every namespace", async () => {
  const servers = await Promise.all(["a", "b", "c"].map((name) => start(name)));
  await using stack = new CloseStack();
  for (const server of servers) stack.add(server);
  const roots = new Set(servers.map(({ discovery }) => discovery.rootPem));
  expect(roots.size).toBe(1);
  const [root = ""] = roots;
  const path = "/api/v1/namespaces/istio-system/secrets/istio-ca-secret";
  const secret = (await place().kubernetes.api.json({ path })) as { type: string; data: Record<string, string> };
  expect(secret.type).toBe("istio.io/ca-root");
  expect(Buffer.from(secret.data["root-cert.pem"] ?? "", "base64").toString()).toBe(root);
  for (const namespace of ["default", "prod", "istio-system", "kube-system"])
    await until(async () => ((await rootMap(namespace)) === root ? undefined : `none in ${namespace}`));
  await place().kubernetes.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "late" } } as Manifest]);
  await until(async () => ((await rootMap("late")) === root ? undefined : "none in late"));
  await place().kubernetes.kubectl(["-n", "late", "delete", "configmap", "istio-ca-root-cert"]);
  await until(async () => ((await rootMap("late")) === root ? undefined : "not restored"));
  // Other leases may be another replica's.
  const leads = /this replica writes to the cluster from now on.*istio-namespace-controller-election/;
  const leaders = servers.filter(({ log }) => leads.test(log.text()));
  expect(leaders).toHaveLength(1);
});

test("a control plane that is started again has the root it had", async () => {
  await using first = await start("a");
  const root = first.discovery.rootPem;
  await using second = await start("b");
  expect(second.discovery.rootPem).toBe(root);
});

test("tokens of service accounts authenticate; a wrong audience and a made up token do not", async () => {
  const { kubernetes } = place();
  await using server = await start("a");
  const tls = { ca: server.discovery.rootPem };
  const ask = async (token: string) => {
    await using stream = openSotw({ port: server.ports.secureGrpc, token, tls });
    const metadata = { NAMESPACE: "prod", SERVICE_ACCOUNT: "web", INSTANCE_IPS: "10.0.0.1" };
    stream.send({ node: testNode({ metadata }), typeUrl: URLS.CDS });
    return await Promise.race([stream.next().then(() => "answered"), stream.ended.then(({ code }) => code)]);
  };
  const token = (audience: string) => kubernetes.token({ namespace: "prod", account: "web", audiences: [audience] });
  expect(await ask(await token("istio-ca"))).toBe("answered");
  expect(await ask(await token("vault"))).toBe("UNAUTHENTICATED");
  expect(await ask("made.up.token")).toBe("UNAUTHENTICATED");
});

test("a token that is bound to a pod ends with the pod", async () => {
  const { kubernetes } = place();
  await using server = await start("a");
  const tls = { ca: server.discovery.rootPem };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "bound", namespace: "prod" },
    spec: { serviceAccountName: "web", containers: [{ name: "app", image: "none" }] },
  };
  await kubernetes.apply([pod as Manifest]);
  const path = "/api/v1/namespaces/prod/pods/bound";
  const { metadata } = (await kubernetes.api.json({ path })) as { metadata: { uid: string } };
  const token = await kubernetes.token({
    namespace: "prod",
    account: "web",
    audiences: ["istio-ca"],
    pod: { name: "bound", uid: metadata.uid },
  });
  const ask = async () => {
    await using stream = openSotw({ port: server.ports.secureGrpc, token, tls });
    stream.send({
      node: testNode({ metadata: { NAMESPACE: "prod", SERVICE_ACCOUNT: "web", INSTANCE_IPS: "10.0.0.1" } }),
      typeUrl: URLS.CDS,
    });
    return await Promise.race([stream.next().then(() => "answered"), stream.ended.then(({ code }) => code)]);
  };
  expect(await ask()).toBe("answered");
  await kubernetes.kubectl(["-n", "prod", "delete", "pod", "bound", "--force", "--grace-period=0"]);
  await until(async () => ((await ask()) === "UNAUTHENTICATED" ? undefined : "still accepted"));
});

test("the CA of Secret cacerts is copied where it cannot be mounted, and what it has revoked is in every namespace", async () => {
  const { kubernetes } = place();
  const root = await makeCertificate({ organization: "plugged in" });
  const stringData = {
    "ca-cert.pem": root.pem,
    "ca-key.pem": root.keyPem,
    "root-cert.pem": root.pem,
    "cert-chain.pem": root.pem,
  };
  const [first, second] = [revocationList(root), `${revocationList(root)}\n`];
  await kubernetes.apply([
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "cacerts", namespace: "istio-system" },
      stringData,
    } as Manifest,
  ]);
  using folder = temporaryFolder();
  await using server = await startDiscoveryServer({
    kubernetes: {
      kubeconfig: kubernetes.kubeconfig,
      environment: {},
      identity: { ...CLUSTER_IDENTITY, copiesCa: true },
    },
    caDirectory: folder.file("ca"),
    podName: "a",
  });
  expect(server.discovery.rootPem).toBe(root.pem);
  expect(statSync(folder.file("ca/ca-key.pem")).mode & 0o777).toBe(0o600);
  const listOf = (namespace: string) => mapText(namespace, "istio-ca-crl", "ca-crl.pem");
  folder.write("ca/ca-crl.pem", first);
  for (const namespace of ["prod", "kube-system"])
    await until("the list is there", async () => expect(await listOf(namespace)).toBe(first));
  folder.write("ca/ca-crl.pem", second);
  await until("a new list takes its place", async () => expect(await listOf("prod")).toBe(second));
});
