import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { COMMANDS } from "./list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-explain-"));
  put("now/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("api"), pod("api", "10.0.0.2"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, ...objects: readonly object[]): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return path;
}

const metadata = (name: string, labels = {}) => ({ name, namespace: "prod", labels });
const service = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: metadata(name),
  spec: { clusterIP: `10.1.0.${name.length}`, selector: { app: name }, ports: [{ name: "http", port: 80 }] },
});
const pod = (name: string, podIP: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: metadata(name, { app: name }),
  spec: { containers: [{ name: "app" }] },
  status: { podIP, phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});
const route = (timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: metadata("api"),
  spec: { hosts: ["api"], http: [{ timeout, route: [{ destination: { host: "api" } }] }] },
});
const API = "outbound|80||api.prod.svc.cluster.local";
const run = (...words: readonly string[]) =>
  runWords({ words: ["discovery", "explain", ...words], commands: COMMANDS, env: {} });

test("the resources of a pod are listed by type and name", async () => {
  const { code, stdout } = await run("--config", join(folder, "now"), "--workload", "prod/web");
  expect(code).toBe(0);
  for (const line of [`CDS  ${API}`, `EDS  ${API}`, "LDS  virtualInbound", "RDS  80", "NDS  (the table)"]) {
    expect(stdout.split("\n")).toContain(line);
  }
});

test("one resource is printed whole, as JSON or YAML", async () => {
  const words = ["--config", join(folder, "now"), "--workload", "prod/web", "--type", "cds", "--name", API];
  expect(JSON.parse((await run(...words)).stdout)).toMatchObject({ name: API, type: "EDS" });
  expect(await parseYaml((await run(...words, "-o", "yaml")).stdout)).toMatchObject({ name: API, type: "EDS" });
});

test("a node of a file is explained as well", async () => {
  const node = put("node.json", {
    id: "router~10.0.0.9~edge.prod~prod.svc.cluster.local",
    metadata: { NAMESPACE: "prod" },
  });
  const { code, stdout } = await run("--config", join(folder, "now"), "--node", node, "--type", "cds", "-o", "json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    resources: expect.arrayContaining([expect.objectContaining({ name: API })]),
  });
});

test("a difference names the proxies and the members that change, nothing else", async () => {
  const next = put(
    "next/mesh.yaml",
    service("web"),
    pod("web", "10.0.0.1"),
    service("api"),
    pod("api", "10.0.0.2"),
    route("2s"),
  );
  const { stdout } = await run("--config", join(folder, "now"), "--diff", next);
  expect(stdout).toContain("web.prod\n  ~ RDS 80\n");
  expect(stdout).toContain('.route.timeout: "0s" -> "2s"\n');
  expect(stdout).toContain("2 of 2 proxies would be sent something.\n");
  expect(stdout).not.toContain("CDS");
});

test("a change that reaches no proxy is reported as such", async () => {
  const same = put("next/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("api"), pod("api", "10.0.0.2"));
  expect((await run("--config", join(folder, "now"), "--diff", same)).stdout).toBe(
    "0 of 2 proxies would be sent something.\n",
  );
});

test("services that come and go are added and removed resources", async () => {
  const next = put("next/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("new"));
  const { stdout } = await run(
    "--config",
    join(folder, "now"),
    "--diff",
    next,
    "--workload",
    "prod/web",
    "--type",
    "cds",
  );
  expect(stdout).toBe(
    `web.prod\n  + CDS outbound|80||new.prod.svc.cluster.local\n  - CDS ${API}\n1 of 1 proxy would be sent something.\n`,
  );
});

test.each([
  { words: [], says: "nothing to explain" },
  { words: ["--config", "x"], says: "whose configuration? give --workload NAMESPACE/POD or --node FILE" },
  {
    words: ["--config", "x", "--workload", "a/b", "--type", "sds"],
    says: '--type is "sds", allowed: cds, eds, lds, rds, nds',
  },
])("wrong use is refused with what is allowed: $words", async ({ words, says }) => {
  const { code, stderr } = await run(...words);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

test("a pod that is not there is named with those that are", async () => {
  const { code, stderr } = await run("--config", join(folder, "now"), "--workload", "prod/none");
  expect(code).toBe(1);
  expect(stderr).toBe("Error: no pod prod/none among the objects; there are prod/web, prod/api\n");
});
