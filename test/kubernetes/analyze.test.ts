import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands/list.ts";
import { runWords } from "../support/cli/run-words.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const SERVICE = { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] };
const route = (host: string) => ({ hosts: ["web"], http: [{ route: [{ destination: { host } }] }] });
const object = (apiVersion: string, kind: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name: "web", namespace: "default" },
  spec,
});

const cluster = sharedPlace(["kubernetes"], async (opened) => {
  const server = opened.add(await startKubernetes());
  // Some kinds alone: a cluster need not have all of them.
  await server.apply(ruleDefinitions(["VirtualService", "DestinationRule"]));
  await server.apply([
    object("v1", "Service", SERVICE),
    object("networking.istio.io/v1", "VirtualService", route("wbe")),
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "reader", namespace: "default" },
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "reader" },
      rules: [
        {
          apiGroups: ["", "networking.istio.io"],
          resources: ["namespaces", "services", "virtualservices"],
          verbs: ["list"],
        },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
    },
  ]);
  return server;
});

const run = (...words: readonly string[]) => runWords({ words: ["analyze", ...words], commands: COMMANDS, env: {} });
const NOT_FOUND = "Error [IST0101] (VirtualService default/web) host not found:";

test("rules of a cluster are analyzed with its services", async () => {
  const { kubeconfig } = cluster();
  const { code, stdout } = await run("--kube", "--kubeconfig", kubeconfig, "-A");
  expect(code).toBe(79);
  expect(stdout).toContain(`${NOT_FOUND} "wbe"`);
});

test("a file is analyzed as if it were in the cluster, and counts before the object it replaces", async () => {
  const { kubeconfig, folder } = cluster();
  const file = join(folder, "mended.yaml");
  writeFileSync(file, JSON.stringify(object("networking.istio.io/v1", "VirtualService", route("web"))));
  expect(await run(file)).toMatchObject({ code: 79, stdout: expect.stringContaining('host not found: "web"') });
  const { stdout } = await run("--kube", "--kubeconfig", kubeconfig, "-A", file);
  expect(stdout).not.toContain("IST0101");
});

test("an explanation of objects of a cluster names the cluster and their versions", async () => {
  const { kubeconfig, folder } = cluster();
  const node = join(folder, "node.json");
  writeFileSync(node, JSON.stringify({ id: "sidecar~192.0.2.1~x.default~default.svc.cluster.local", metadata: {} }));
  const why = ["--node", node, "--type", "rds", "--why", "web.default.svc.cluster.local"];
  const words = ["discovery", "explain", "--kube", "--kubeconfig", kubeconfig, ...why];
  const { stdout } = await runWords({ words, commands: COMMANDS, env: {} });
  expect(stdout).toMatch(/from VirtualService default\/web \(cluster \S+, version \d+\)\n/);
  expect(stdout).toMatch(/from Service default\/web \(cluster \S+, version \d+\)\n/);
});

test("what the account may not read is said and left out", async () => {
  const server = cluster();
  const token = await server.token({ namespace: "default", account: "reader" });
  const path = join(server.folder, "reader.kubeconfig");
  writeFileSync(path, server.kubeconfigFor({ token }));
  const { stdout, stderr } = await run("--kube", "--kubeconfig", path, "-A");
  expect(stdout).toContain(`${NOT_FOUND} "wbe"`);
  expect(stderr).toMatch(/Warning: cannot list secrets.*: left out/);
});
