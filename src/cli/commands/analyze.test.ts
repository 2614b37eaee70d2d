import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { COMMANDS } from "./list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-analyze-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const run = (...words: readonly string[]) => runWords({ words: ["analyze", ...words], commands: COMMANDS, env: {} });

const SERVICE = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: prod}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}]
`;
const route = (host: string, more = "") => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: web
  namespace: prod${more}
spec:
  hosts: [web]
  http:
  - route:
    - destination:
        host: ${host}
`;

test("a destination that does not exist is an error at its line, with exit code 79", async () => {
  const path = file("mesh.yaml", `${SERVICE}---\n${route("wbe")}`);
  const { code, stdout: printed, stderr: said } = await run(path);
  expect(code).toBe(79);
  expect(printed).toBe(
    `Error [IST0101] (VirtualService prod/web ${path}:18) host not found: "wbe": no service of this name is visible in namespace prod\n`,
  );
  expect(said).toContain("2 objects: 1 error, 0 warning, 0 info; fails from error on.");
});

test("a mesh without mistakes has no findings and exit code 0", async () => {
  file("a/service.yaml", SERVICE);
  file("a/route.yml", route("web"));
  const { code, stdout: printed, stderr: said } = await run("--config", folder);
  expect({ code, printed }).toEqual({ code: 0, printed: "" });
  expect(said).toContain("No findings in 2 objects.");
});

test("one object is one object", async () => {
  expect((await run(file("service.yaml", SERVICE))).stderr).toBe("No findings in 1 object.\n");
});

test("files together are one mesh, regardless of the order in which they are given", async () => {
  const paths = [file("route.yaml", route("web")), file("service.yaml", SERVICE)];
  expect((await run(...paths)).code).toBe(0);
  expect((await run(...paths.toReversed())).code).toBe(0);
});

test.each([
  { how: "by code and object", words: ["--suppress", "IST0101=VirtualService web.prod"], code: 0 },
  { how: "by a wildcard", words: ["--suppress", "IST0101=VirtualService *.prod"], code: 0 },
  { how: "not by another object", words: ["--suppress", "IST0101=VirtualService other.prod"], code: 79 },
  { how: "not by another code", words: ["--suppress", "IST0102=VirtualService web.prod"], code: 79 },
])("findings are suppressed $how", async ({ words, code }) => {
  expect((await run(file("mesh.yaml", `${SERVICE}---\n${route("wbe")}`), ...words)).code).toBe(code);
});

test.each(["IST0101", "*", "IST0118, IST0101"])(
  "an annotation suppresses findings of its object: %s",
  async (codes) => {
    const annotated = route("wbe", `\n  annotations: {"galley.istio.io/analyze-suppress": "${codes}"}`);
    expect((await run(file("mesh.yaml", `${SERVICE}---\n${annotated}`))).code).toBe(0);
  },
);

test("the exit code follows the failure threshold, what is printed the output threshold", async () => {
  const path = file("service.yaml", SERVICE.replace("name: http", "name: web"));
  expect(await run(path)).toMatchObject({ code: 0, stdout: expect.stringContaining("Info [IST0118]") });
  expect(await run(path, "--failure-threshold", "info")).toMatchObject({ code: 79 });
  expect(await run(path, "--output-threshold", "Warning")).toMatchObject({ code: 0, stdout: "" });
});

describe("formats for machines", () => {
  const message = {
    code: "IST0101",
    name: "ReferencedResourceNotFound",
    level: "Error",
    origin: "VirtualService prod/web",
    message: 'host not found: "wbe": no service of this name is visible in namespace prod',
  };
  test("JSON", async () => {
    const path = file("mesh.yaml", `${SERVICE}---\n${route("wbe")}`);
    const { stdout: printed } = await run(path, "-o", "json");
    expect(JSON.parse(printed)).toEqual([{ ...message, reference: `${path}:18` }]);
  });
  test("YAML", async () => {
    const path = file("mesh.yaml", `${SERVICE}---\n${route("wbe")}`);
    const { stdout: printed } = await run(path, "-o", "yaml");
    expect(await parseYaml(printed)).toEqual([{ ...message, reference: `${path}:18` }]);
  });
});

test("a document that is not YAML is named with its line, the others are analyzed, exit code 65", async () => {
  const path = file("mesh.yaml", `${route("wbe")}---\na: [\n`);
  const { code, stdout: printed, stderr: said } = await run(path);
  expect(code).toBe(65);
  expect(printed).toContain("[IST0101]");
  expect(said).toContain(`Error: ${path}:1`);
});

test.each([
  { words: [], says: "nothing to analyze: give files or folders, or --kube for a cluster" },
  { words: ["x", "-o", "table"], says: '--output is "table", allowed: log, json, yaml' },
  {
    words: ["x", "--failure-threshold", "fatal"],
    says: '--failure-threshold is "fatal", allowed: Info, Warning, Error',
  },
  { words: ["x", "--suppress", "IST0101"], says: '--suppress is "IST0101", expected CODE=KIND NAME.NAMESPACE' },
])("wrong use is refused with what is allowed: $words", async ({ words, says }) => {
  const { code, stderr: said } = await run(...words);
  expect(code).toBe(2);
  expect(said).toContain(says);
});

test("a file that is not there is named", async () => {
  const { code, stderr: said } = await run(join(folder, "none.yaml"));
  expect(code).toBe(65);
  expect(said).toContain("none.yaml: no such file or folder");
});

test("the list of analyzers says what is looked for", async () => {
  const { code, stdout: printed } = await run("--list-analyzers");
  expect(code).toBe(0);
  expect(printed).toContain("* virtualservice.DestinationHostAnalyzer:\n    Destinations that do not exist\n");
});
