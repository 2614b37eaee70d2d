import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { COMMANDS } from "./list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-inject-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const run = (...words: readonly string[]) => runWords({ words, commands: COMMANDS, env: {} });

const SERVICE = `# kept, with its comment
apiVersion: v1
kind: Service
metadata: {name: web}
`;
const deployment = (more: string, spec = "") => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}   # kept unless injected
spec:
  template:
    metadata:
      annotations: {${more}}
    spec:
${spec}      containers:
      - {name: web, image: web:1}
`;

test("documents that are not injected keep their text, comments included", async () => {
  const skipped = deployment("sidecar.istio.io/inject: 'false'");
  const { code, stdout, stderr } = await run("kube-inject", "-f", file("in.yaml", `${SERVICE}---\n${skipped}`));
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${SERVICE}---\n${skipped}---\n` });
  expect(stderr).toBe('\n===> Skipping injection because Deployment "web" has sidecar injection disabled\n\n');
});

test("several files become one stream, and kube-uninject gives the workloads back", async () => {
  const [one, two] = [file("1.yaml", deployment("")), file("2.yaml", SERVICE)];
  const injected = await run("kube-inject", "-f", one, "-f", two, "-o", join(folder, "out.yaml"));
  expect(injected).toEqual({ code: 0, stdout: "", stderr: "", logged: [] });
  const text = readFileSync(join(folder, "out.yaml"), "utf8");
  expect(text).toContain("name: istio-proxy");
  expect(text.endsWith(`---\n${SERVICE}---\n`)).toBe(true);
  const { stdout } = await run("kube-uninject", "-f", join(folder, "out.yaml"));
  expect(stdout).not.toContain("istio");
  expect(stdout).toContain("image: web:1");
});

test("an output that is the input is replaced at once and keeps its mode", async () => {
  const path = file("in.yaml", deployment(""));
  chmodSync(path, 0o600);
  expect((await run("kube-inject", "-f", path, "-o", path)).code).toBe(0);
  expect(readFileSync(path, "utf8")).toContain("name: istio-init");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("an error in a later document leaves the output as it was, and no other file", async () => {
  const path = file(
    "in.yaml",
    `${deployment("")}---\n${deployment("status.sidecar.istio.io/port: x").replace("name: web", "name: other")}`,
  );
  const before = readFileSync(path, "utf8");
  const { code, stderr } = await run("kube-inject", "-f", path, "-o", path);
  expect(code).toBe(1);
  expect(stderr).toContain("invalid value 'x' for annotation 'status.sidecar.istio.io/port'");
  expect(stderr).toContain("allowed are 0 to 65535");
  expect(stderr).toContain('in.yaml: Deployment "other": ');
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["in.yaml"]);
});

test("--explain names the rule that decided for each workload", async () => {
  const host = deployment("", "      hostNetwork: true\n");
  const path = file("in.yaml", `${deployment("")}---\n${host}---\n${deployment("sidecar.istio.io/inject: 'false'")}`);
  const { stdout } = await run("kube-inject", "-f", path, "--explain");
  expect(stdout.split("\n")).toEqual([
    'Deployment "web": injected: policy is enabled and neither label, annotation nor selector says otherwise',
    'Deployment "web": not injected: spec.hostNetwork is true: capture would change the node\'s own network',
    'Deployment "web": not injected: annotation sidecar.istio.io/inject is false',
    "",
  ]);
});

test.each([
  { words: [], says: "Error: filename not specified (see --filename or -f)\n" },
  { words: ["-f", "missing.yaml"], says: "Error: open missing.yaml: no such file or directory\n" },
])("kube-inject $words ends with code 1 and says: $says", async ({ words, says }) => {
  expect(await run("kube-inject", ...words)).toMatchObject({ code: 1, stdout: "", stderr: says });
});

test("a template with an error is named with its line", async () => {
  const template = file("config.yaml", "templates:\n  sidecar: |\n    spec:\n      {{ nothing }}\n");
  const { code, stderr } = await run(
    "kube-inject",
    "-f",
    file("in.yaml", deployment("")),
    "--injectConfigFile",
    template,
  );
  expect(code).toBe(1);
  expect(stderr).toContain('template "sidecar": template: inject:2: function "nothing" not defined');
});

test("command lines that cannot be understood exit with 64, and what cannot be injected with 1", async () => {
  expect((await run("kube-inject", "--nothing")).code).toBe(64);
  expect((await run("kube-inject", "deployment.yaml")).code).toBe(64);
  expect((await run("kube-uninject", "--nothing")).code).toBe(64);
  expect((await run("kube-inject", "-f", join(folder, "missing.yaml"))).code).toBe(1);
});

test("a cluster that is named and cannot be reached is an error that says so, within its time", async () => {
  const kubeconfig = file("kubeconfig", KUBECONFIG);
  const { code, stderr } = await run("kube-inject", "-f", file("in.yaml", SERVICE), "--kubeconfig", kubeconfig);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Error: cannot list mutatingwebhookconfigurations.*127\.0\.0\.1:1/);
});

test("1.7 searches the namespaces of the values, each a template, after those of the pod", async () => {
  const values =
    "global:\n  podDNSSearchNamespaces: [global, '{{ valueOrDefault .DeploymentMeta.Namespace \"default\" }}.global']\n";
  const path = file("in.yaml", deployment("", "      dnsConfig: {searches: [own]}\n"));
  const { stdout, stderr } = await runWords({
    words: ["kube-inject", "-f", path, "--valuesFile", file("values.yaml", values)],
    commands: COMMANDS,
    env: { PILOT_AGENT_GENERATION: "1.7" },
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/searches:\n *- own\n *- global\n *- default\.global\n/);
});

/** Nothing listens on port 1. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`;
