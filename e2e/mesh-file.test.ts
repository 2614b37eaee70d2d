import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { execute } from "../test/support/mesh/run.ts";
import { PROGRAM } from "../test/support/process/program.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-file-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mesh = (...words: readonly string[]) => execute([PROGRAM, "mesh", ...words], folder);

test("init writes an example that validates, and never over a file", async () => {
  expect(await mesh("init")).toMatchObject({
    code: 0,
    stdout: "mesh.yaml is written; pilot-agent mesh up starts it\n",
  });
  const written = readFileSync(join(folder, "mesh.yaml"), "utf8");
  expect(await mesh("validate")).toMatchObject({
    code: 0,
    stdout: "mesh.yaml is valid: 2 services, 2 Istio objects\n",
  });
  expect(await mesh("init")).toMatchObject({
    code: 1,
    stderr: "Error: mesh.yaml is there already and stays as it is\n",
  });
  expect(readFileSync(join(folder, "mesh.yaml"), "utf8")).toBe(written);
});

test("validate tells every mistake of the file, its objects and its folder, each with its place", async () => {
  writeFileSync(join(folder, "a.yaml"), "services:\n  web: {port: 0, command: x}\n  db: {}\n");
  expect(await mesh("validate", "-f", "a.yaml")).toMatchObject({
    code: 1,
    stderr: "a.yaml:2:9: services.web.port: is 0, allowed are 1 to 65535\n",
  });
  mkdirSync(join(folder, "rules"));
  const rule = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: x}\nspec: {hosts: [a]}\n";
  writeFileSync(join(folder, "rules/x.yaml"), rule);
  const inline = "config:\n  - {apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: s}, spec: {}}\n";
  writeFileSync(join(folder, "b.yaml"), `services: {web: {command: x}}\nconfigDir: rules\n${inline}`);
  const { code, stderr } = await mesh("validate", "-f", "b.yaml");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^b\.yaml:4: .*sidecar: empty configuration provided/m);
  expect(stderr).toMatch(/rules\/x\.yaml:\d+:\d+: .*http, tcp or tls must be provided in virtual service/);
});

test("validate looks at what mesh up would take, and tells what it could not do", async () => {
  const many = Array.from({ length: 5 }, (_, index) => `s${index}: {command: x, replicas: 50}`).join(", ");
  writeFileSync(join(folder, "many.yaml"), `services: {${many}}\nconfigDir: nowhere\n`);
  const { code, stderr } = await mesh("validate", "-f", "many.yaml");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^many\.yaml: 250 workloads are planned, at most 200 fit on one machine$/m);
  expect(stderr).toMatch(/^configDir cannot be read: ENOENT/m);
  mkdirSync(join(folder, "rules/folder.yaml"), { recursive: true });
  writeFileSync(join(folder, "rules/.hidden.yaml"), "kind: [");
  symlinkSync("nowhere", join(folder, "rules/broken.yaml"));
  writeFileSync(join(folder, "few.yaml"), "services: {web: {command: x}}\nconfigDir: rules\n");
  const few = await mesh("validate", "-f", "few.yaml");
  expect(few.code).toBe(1);
  expect(few.stderr).toMatch(/^\S+rules\/broken\.yaml: ENOENT[^\n]*\n$/);
});

test("a compose file is taken over, and what is not is said with its place", async () => {
  const compose =
    "services:\n  db: {image: postgres}\n  web:\n    image: node\n    command: node web.js\n    ports: [8000]\n";
  writeFileSync(join(folder, "docker-compose.yaml"), compose);
  const direct = await mesh("validate", "-f", "docker-compose.yaml");
  expect(direct.code).toBe(1);
  expect(direct.stderr).toContain(
    "docker-compose.yaml:2:8: services.db.image: is not known here: it is a member of compose files; a mesh file takes one over with import: docker-compose.yaml\n",
  );
  writeFileSync(join(folder, "mesh.yaml"), "import: docker-compose.yaml\n");
  expect(await mesh("validate")).toEqual({
    code: 0,
    stdout: "mesh.yaml is valid: 1 service, 0 Istio objects\n",
    stderr: `warning: docker-compose.yaml:2:3: left out, as there is no command; give one, or an address, in the mesh file (db)
warning: docker-compose.yaml:4:5: image is not taken over: commands run on this machine as they are (web)
`,
  });
});

test("schema prints what is published", async () => {
  const { stdout } = await mesh("schema");
  expect(stdout).toBe(readFileSync(join(import.meta.dirname, "../docs/mesh.schema.json"), "utf8"));
});

test.each([
  {
    words: ["up"],
    says: /mesh\.yaml cannot be read: there is no such file or folder; pilot-agent mesh init writes an example/,
  },
  {
    words: ["up", "--demo", "--isolation", "walls"],
    says: /--isolation is "walls", allowed are auto, namespaces, none/,
  },
  { words: ["up", "--demo", "-f", "x"], says: /--demo and --file exclude each other/ },
  { words: ["status"], says: /no mesh runs \(looked in .*\); pilot-agent mesh up starts one/ },
  { words: ["status", "-o", "xml"], says: /--output is "xml", allowed are table, json/ },
  { words: ["down", "--name", "nobody"], says: /no mesh runs in .*nobody/ },
  { words: ["apply"], says: /-f is missing/ },
  { words: ["exec", "web"], says: /needs a workload and, after --, a command/ },
])("mesh $words is refused in plain words, without a stack", async ({ words, says }) => {
  const { code, stderr, stdout } = await mesh(...words, "--state-dir", join(folder, "state"));
  expect(code).not.toBe(0);
  expect(stderr).toMatch(says);
  expect(`${stdout}${stderr}`).not.toMatch(/^\s+at /m);
});

test("an ordinary user's state is below the home directory", async () => {
  const shown = execFileSync(PROGRAM, ["mesh", "status", "--help"], { encoding: "utf8" });
  expect(shown).toContain("~/.local/state/pilot-agent/mesh for others");
});
