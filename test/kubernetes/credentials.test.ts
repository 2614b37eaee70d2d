import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { findClusterAccess } from "../../src/kubernetes/access/in-cluster.ts";
import { readKubeconfig } from "../../src/kubernetes/access/read-kubeconfig.ts";
import { createKubernetesClient } from "../../src/kubernetes/client.ts";
import { declareKubernetesMetrics } from "../../src/kubernetes/metrics.ts";
import { startReflector } from "../../src/kubernetes/reflector/start-reflector.ts";
import { makeCertificate, type TestCertificate } from "../support/certs/certificates.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { kubeconfigText } from "../support/kubernetes/cluster-files.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { startConnectProxy } from "../support/net/connect-proxy.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => opened.add(await startKubernetes()));

const MAPS = { group: "", version: "v1", plural: "configmaps", namespace: "default" };

/** A kubeconfig with other members for its cluster and its user. */
function kubeconfig(members: object, user: object): string {
  const config = JSON.parse(kubeconfigText(cluster().server, cluster().caPem, user));
  const own = config.clusters[0].cluster;
  return JSON.stringify({ ...config, clusters: [{ name: "test", cluster: { ...own, ...members } }] });
}

const clientOf = async (opened: CloseStack, path: string, env: NodeJS.ProcessEnv = {}) =>
  opened.add(createKubernetesClient({ access: await readKubeconfig({ paths: [path] }), env }));

const issue = (commonName: string, by: TestCertificate, hosts?: readonly string[]) =>
  makeCertificate({
    by,
    isCa: false,
    commonName,
    organization: "system:masters",
    toMs: 3_600_000,
    ...(hosts !== undefined && { hosts }),
  });

test("a client certificate that was rotated in its files counts from the next request on", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  const foreign = await makeCertificate({ commonName: "foreign-ca", toMs: 3_600_000 });
  const write = ({ pem, keyPem }: TestCertificate) => {
    folder.write("client.crt", pem);
    folder.write("client.key", keyPem);
  };
  write(await issue("first", foreign));
  const user = { "client-certificate": "client.crt", "client-key": "client.key" };
  const client = await clientOf(opened, folder.write("config", kubeconfig({}, user)));
  await expect(client.list(MAPS)).rejects.toMatchObject({ code: "unauthorized" });
  write(await issue("second", cluster().ca));
  expect((await client.list(MAPS)).resourceVersion).toMatch(/^\d+$/);
});

test("a CA that was rotated in its file is trusted from the next connection on", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  const foreign = await makeCertificate({ commonName: "foreign-ca", toMs: 3_600_000 });
  folder.write("ca.crt", foreign.pem);
  const members = { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" };
  const path = folder.write("config", kubeconfig(members, { token: cluster().adminToken }));
  const client = await clientOf(opened, path);
  await expect(client.list(MAPS)).rejects.toMatchObject({ code: "unreachable" });
  folder.write("ca.crt", `${foreign.pem}${cluster().caPem}`);
  expect((await client.list(MAPS)).resourceVersion).toMatch(/^\d+$/);
});

test("an API server that comes back with another certificate is followed on", async () => {
  await using opened = new CloseStack();
  const client = await clientOf(opened, cluster().kubeconfig);
  const reflector = opened.add(
    startReflector<string>({
      client,
      resource: { ...MAPS, labelSelector: "group=rotated" },
      reduce: ({ metadata }) => metadata.name,
      onChange: () => undefined,
      log: silentLogger,
      metrics: declareKubernetesMetrics(new MetricRegistry()),
    }),
  );
  await reflector.synced;
  const { pem, keyPem } = await issue("kube-apiserver", cluster().ca, ["localhost", "127.0.0.1"]);
  writeFileSync(join(cluster().folder, "server.crt"), pem);
  writeFileSync(join(cluster().folder, "server.key"), keyPem);
  await cluster().restart();
  const labels = { group: "rotated" };
  await cluster().apply([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "after", labels } }]);
  await until("the change came", () => reflector.get("default/after") === "after", 60_000);
});

test("a credential plugin runs again when the server refuses what it gave", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  const plugin = folder.write(
    "plugin.sh",
    `#!/bin/sh
echo run >> "$(dirname "$0")/runs"
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$(cat "$(dirname "$0")/token")"
`,
  );
  chmodSync(plugin, 0o755);
  folder.write("token", cluster().adminToken);
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin.sh", interactiveMode: "Never" };
  const path = folder.write("config", kubeconfig({}, { exec }));
  const client = await clientOf(opened, path, { PATH: process.env.PATH });
  await client.list(MAPS);
  await client.list(MAPS);
  const runs = () => readFileSync(folder.file("runs"), "utf8").trim().split("\n").length;
  expect(runs()).toBe(1);
  const reader = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "short", namespace: "default" } };
  await cluster().apply([reader]);
  folder.write("token", await cluster().token({ namespace: "default", account: "short" }));
  // A server that refuses the token it took before: its account is gone.
  const other = await clientOf(opened, path, { PATH: process.env.PATH });
  await expect(other.list(MAPS)).rejects.toMatchObject({ code: "forbidden" });
  await cluster().delete(reader);
  folder.write("token", cluster().adminToken);
  await until("the deleted account counts", async () => {
    await other.list(MAPS);
  });
  expect(runs()).toBeGreaterThanOrEqual(3);
});

test("the cluster is found by a pod's account, by KUBECONFIG as a list, and by a name that counts before both", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  folder.write("token", cluster().adminToken);
  folder.write("ca.crt", cluster().caPem);
  folder.write("namespace", "shop");
  const pod = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(cluster().port) };
  const list = { KUBECONFIG: `/nonexistent/config:${cluster().kubeconfig}` };
  const none = { KUBECONFIG: "/nonexistent/config" };
  const find = async (
    options: Omit<Parameters<typeof findClusterAccess>[0], "accountFolder">,
    accountFolder?: string,
  ) => findClusterAccess({ ...options, accountFolder: accountFolder ?? "/nonexistent" });
  for (const [name, access] of [
    ["in-cluster", await find({ env: { ...pod, ...list } }, folder.path)],
    ["test", await find({ env: { ...pod, ...list } })],
    ["test", await find({ kubeconfig: cluster().kubeconfig, env: { ...pod, ...none } }, folder.path)],
    ["test", await find({ context: "test", env: { ...pod, ...list } }, folder.path)],
  ] as const) {
    expect(access.name).toBe(name);
    const client = opened.add(createKubernetesClient({ access, env: {} }));
    expect((await client.list(MAPS)).resourceVersion).toMatch(/^\d+$/);
  }
  expect((await find({ env: pod }, folder.path)).namespace).toBe("shop");
  await expect(find({ env: none })).rejects.toMatchObject({ code: "invalid-config" });
});

test("an API server is reached through the proxy of its kubeconfig, and by the name that its certificate must have", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  const proxy = opened.add(await startConnectProxy(`127.0.0.1:${cluster().port}`));
  const ask = async (members: object) => {
    const path = folder.write("config", kubeconfig(members, { token: cluster().adminToken }));
    return (await clientOf(opened, path)).list(MAPS);
  };
  await ask({ "proxy-url": `http://127.0.0.1:${proxy.port}` });
  expect(proxy.asked.map(({ target }) => target)).toEqual([`127.0.0.1:${cluster().port}`]);
  await ask({ "tls-server-name": "localhost" });
  await expect(ask({ "tls-server-name": "elsewhere.example" })).rejects.toThrow("elsewhere.example");
  await expect(ask({ "certificate-authority-data": undefined })).rejects.toMatchObject({ code: "unreachable" });
  await ask({ "certificate-authority-data": undefined, "insecure-skip-tls-verify": true });
});
