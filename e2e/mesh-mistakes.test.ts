import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { type OrdinaryUser, ordinaryUser } from "../test/support/mesh/ordinary-user.ts";
import { execute } from "../test/support/mesh/run.ts";
import { PROGRAM } from "../test/support/process/program.ts";

/** What people type and write wrong, what they read then, and the exit code: 1 for a failure, 2 for a wrong command line. */
interface Mistake {
  readonly words: string;
  /** The mesh file, where one is needed. */
  readonly file?: string;
  readonly says: string | RegExp;
  readonly code: 1 | 2;
}

const WEB = "  web: {port: 8080, command: sleep 1}\n";
const rule = (kind: string, spec: string, metadata = "{name: x}") =>
  `services:\n${WEB}config:\n  - {apiVersion: networking.istio.io/v1, kind: ${kind}, metadata: ${metadata}, spec: ${spec}}\n`;
const ROUTE = "http: [{route: [{destination: {host: web}}]}]";

const MISTAKES: readonly Mistake[] = [
  // The command line
  {
    words: "statuss",
    says: 'unknown command "statuss" for "pilot-agent mesh"\n\nDid you mean this?\n\tstatus',
    code: 2,
  },
  { words: "applly -f x", says: "Did you mean this?\n\tapply", code: 2 },
  { words: "status --nme x", says: "Error: there is no flag --nme; did you mean --name?\n", code: 2 },
  { words: "logs -x", says: "Error: there is no flag -x\n", code: 2 },
  { words: "logs --tail", says: "Error: --tail needs a value\n", code: 2 },
  { words: "logs --tail abc", says: 'Error: --tail is "abc", expected a whole number\n', code: 2 },
  { words: "logs --tail=-5", says: "Error: --tail is -5, allowed are 0 and more\n", code: 2 },
  { words: "logs --follow=perhaps", says: 'Error: --follow is "perhaps", expected true or false\n', code: 2 },
  { words: "status -o xml", says: 'Error: --output is "xml", allowed are table, json\n', code: 2 },
  { words: "ls -o xml", says: 'Error: --output is "xml", allowed are table, json\n', code: 2 },
  { words: "validate -o yaml", says: 'Error: --output is "yaml", allowed are text, json\n', code: 2 },
  { words: "up web", says: "Error: no argument is expected, found web\n", code: 2 },
  { words: "init mesh.yml", says: "Error: no argument is expected, found mesh.yml\n", code: 2 },
  { words: "up --demo -f x.yaml", says: "Error: --demo and --file exclude each other", code: 2 },
  {
    words: "up --demo --isolation docker",
    says: '--isolation is "docker", allowed are auto, namespaces, none',
    code: 2,
  },
  { words: "up --demo --attach frnt", says: 'Error: --attach is "frnt"; there are front, catalogue-v1', code: 2 },
  {
    words: "kill",
    says: "Error: one part is expected, found 0: control-plane, WORKLOAD/app, WORKLOAD/agent\n",
    code: 2,
  },
  { words: "restart", says: "Error: which one? control-plane, WORKLOAD/app, WORKLOAD/agent\n", code: 2 },
  { words: "exec web", says: "Error: needs a workload and, after --, a command\n", code: 2 },
  { words: "apply", says: "Error: -f is missing: the mesh file, or a file with Istio objects\n", code: 2 },
  // Files that are not there, or something else
  {
    words: "up -f gone.yaml",
    says: "Error: gone.yaml cannot be read: there is no such file or folder; pilot-agent mesh init",
    code: 1,
  },
  { words: "up -f folder", says: "Error: folder cannot be read: it is a folder; ", code: 1 },
  { words: "apply -f gone.yaml", says: "Error: gone.yaml cannot be read: there is no such file or folder\n", code: 1 },
  { words: "init -f folder", says: "Error: folder is there already and stays as it is\n", code: 1 },
  {
    words: "init -f gone/mesh.yaml",
    says: "Error: gone/mesh.yaml cannot be written: there is no such file or folder\n",
    code: 1,
  },
  {
    words: "up --name ../shop",
    file: `services:\n${WEB}`,
    says: 'Error: --name is "../shop", allowed are at most 40 small letters, digits and dashes, beginning with a letter',
    code: 2,
  },
  { words: "status", says: /^Error: no mesh runs \(looked in \S+\); pilot-agent mesh up starts one\n$/, code: 1 },
  { words: "down", says: "Error: no mesh runs ", code: 1 },
  // The mesh file
  { words: "validate", file: "", says: "mesh.yaml:1:1: the file is empty; services is missing\n", code: 1 },
  { words: "validate", file: "services: [\n", says: /^mesh\.yaml:2:1: YAML: /, code: 1 },
  { words: "validate", file: `servces:\n${WEB}`, says: "mesh.yaml:1:1: services is missing", code: 1 },
  {
    words: "validate",
    file: "services:\n  web: {port: 8080, comand: sleep 1}\n",
    says: /^mesh\.yaml:2:\d+: services\.web\.comand: "comand" is not known here; did you mean command\?\n$/,
    code: 1,
  },
  {
    words: "validate",
    file: "services:\n  Web: {port: 8080, command: sleep 1}\n",
    says: 'mesh.yaml:2:3: services.Web: the name is "Web", expected at most 40 small letters, digits and dashes',
    code: 1,
  },
  {
    words: "validate",
    file: "services:\n  web: {port: 80800, command: sleep 1}\n",
    says: /^mesh\.yaml:2:\d+: services\.web\.port: /,
    code: 1,
  },
  {
    words: "validate",
    file: `services:\n${WEB}  b: {command: sleep 1, calls: [wep]}\n`,
    says: '"wep" is not a service with a port, there are web',
    code: 1,
  },
  {
    words: "validate",
    file: "services:\n  web: {port: 8080, command: [no-such-program]}\n",
    says: /^mesh\.yaml:2:\d+: services\.web: the command cannot be run: no-such-program is not on PATH\n$/,
    code: 1,
  },
  {
    words: "validate",
    file: "services:\n  web: {port: 8080, directory: ./gone, command: sleep 1}\n",
    says: /^mesh\.yaml:2:\d+: services\.web: the directory \S+gone is not there\n$/,
    code: 1,
  },
  {
    words: "validate",
    file: `isolation: none\nservices:\n${WEB}`,
    says: "it holds for the whole mesh, from its start: mesh up --isolation",
    code: 1,
  },
  // Rules
  {
    words: "validate",
    file: rule("VirtualServce", `{hosts: [web], ${ROUTE}}`),
    says: "mesh.yaml:4: kind VirtualServce is not known; did you mean VirtualService?",
    code: 1,
  },
  {
    words: "validate",
    file: rule("VirtualService", "{hosts: [web], http: [{route: [{destination: {host: wep}}]}]}"),
    says: 'mesh.yaml:4: host not found: "wep"',
    code: 1,
  },
  {
    words: "validate",
    file: rule("VirtualService", "{hosts: [web], http: [{route: [{destination: {host: web, subset: v2}}]}]}"),
    says: 'not found: "web+v2"',
    code: 1,
  },
  {
    words: "validate",
    file: rule(
      "ServiceEntry",
      "{hosts: [web.default.svc.cluster.local], ports: [{number: 80, name: http}], resolution: DNS}",
    ),
    says: "mesh.yaml:4: it would take the place of the service web of the mesh file; rename it",
    code: 1,
  },
  {
    words: "up --isolation none",
    file: rule(
      "ServiceEntry",
      "{hosts: [a.example], ports: [{number: 80, name: http}], resolution: DNS}",
      "{name: web}",
    ),
    says: "it would take the place of the service web",
    code: 1,
  },
  {
    words: "validate",
    file: rule(
      "Gateway",
      "{selector: {istio: ingressgateway}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ['*']}]}",
    ),
    says: 'mesh.yaml:4: selector not found: "istio=ingressgateway": no workload has these labels (Gateway default/x)\n',
    code: 1,
  },
];

/** Of somebody without rights: what belongs to others. */
const MISTAKES_WITHOUT_RIGHTS: readonly Mistake[] = [
  {
    words: "validate -f secret.yaml",
    says: "secret.yaml cannot be read: this user may not",
    code: 1,
  },
  {
    words: "apply -f secret.yaml",
    says: "secret.yaml cannot be read: this user may not",
    code: 1,
  },
  {
    words: "init -f closed/mesh.yaml",
    says: "Error: closed/mesh.yaml cannot be written: this user may not\n",
    code: 1,
  },
];

let folder: TemporaryFolder;
let user: OrdinaryUser | undefined;
beforeAll(() => {
  folder = temporaryFolder({ files: { "folder/x": "", "closed/x": "", "secret.yaml": `services:\n${WEB}` } });
  chmodSync(folder.file("secret.yaml"), 0o600);
  if (process.getuid?.() === 0) user = ordinaryUser();
});
afterAll(() => {
  folder[Symbol.dispose]();
  user?.[Symbol.dispose]();
});

const mesh = (words: string, { wrapper, home }: Partial<OrdinaryUser> = {}) =>
  execute([...(wrapper ?? []), PROGRAM, "mesh", ...words.split(" ")], folder.path, {
    PILOT_AGENT_MESH_DIR: home === undefined ? folder.file("state") : join(home, "state"),
  });

test.each(numbered(MISTAKES))("mistake $number: mesh $words", (mistake) => expectTold(mistake));

test.for(numbered([...MISTAKES.filter(({ code }) => code === 1), ...MISTAKES_WITHOUT_RIGHTS]))(
  "mistake $number of an ordinary user: mesh $words",
  async (mistake, context) => {
    if (user === undefined) return context.skip("needs root, to become another user");
    chmodSync(folder.path, 0o755);
    await expectTold(mistake, user);
  },
);

function numbered(mistakes: readonly Mistake[]) {
  return mistakes.map((mistake, index) => ({ number: index + 1, ...mistake }));
}

async function expectTold({ words, file, says, code }: Mistake, as?: OrdinaryUser): Promise<void> {
  folder.write("mesh.yaml", file ?? "");
  const result = await mesh(words, as);
  // `up` says how workloads would be isolated before it looks at rules.
  expect(result.stdout.replace(/^isolation: .*\n/, "")).toBe("");
  if (typeof says === "string") expect(result.stderr).toContain(says);
  else expect(result.stderr).toMatch(says);
  expect(result.code).toBe(code);
  // Once, and nothing for programmers.
  expect(result.stderr.match(/^Error: /gm)?.length ?? 0).toBeLessThan(2);
  expect(result.stderr).not.toMatch(/strconv|arg\(s\)|ENOENT|EISDIR|EACCES|^\s+at /m);
}

test("warnings do not fail a validation, and json has them apart from problems", async () => {
  folder.write("mesh.yaml", rule("VirtualService", `{hosts: [web], htp: [], ${ROUTE}}`));
  const text = await mesh("validate");
  expect(text).toMatchObject({ code: 0, stdout: "mesh.yaml is valid: 1 service, 1 Istio object\n" });
  expect(text.stderr).toMatch(/^warning: mesh\.yaml:4: spec\.htp: unknown field "htp"/);
  const { stdout } = await mesh("validate -o json");
  expect(JSON.parse(stdout)).toEqual({ valid: true, problems: [], warnings: [expect.stringContaining("htp")] });
});

test("what mesh init writes is valid, and names its schema for editors", async () => {
  expect(await mesh("init -f example.yaml")).toMatchObject({ code: 0 });
  expect(folder.read("example.yaml")).toMatch(/^# yaml-language-server: \$schema=https:\S+\/mesh\.schema\.json\n/);
  expect(await mesh("validate -f example.yaml")).toMatchObject({ code: 0, stderr: "" });
});

test("without root validate knows ports that are taken", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("is about another user than the one of this test");
  chmodSync(folder.path, 0o755);
  const server = createServer().listen(0);
  await new Promise((ready) => server.once("listening", ready));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  folder.write("mesh.yaml", `services:\n  web: {port: ${port}, command: sleep 1}\n`);
  const words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM, "mesh", "validate"];
  const { code, stderr } = await execute(words, folder.path);
  server.close();
  expect(stderr).toBe(`mesh.yaml: service web: port ${port} is taken by another program on all addresses\n`);
  expect(code).toBe(1);
});
