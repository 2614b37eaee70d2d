import fc from "fast-check";
import { expect, test } from "vitest";
import { exampleFile } from "../example-file.ts";
import { parseMeshFile } from "./parse-mesh-file.ts";

function fileOf(text: string) {
  const parsed = parseMeshFile(text);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.file;
}

function problemsOf(text: string): string[] {
  const parsed = parseMeshFile(text);
  if ("file" in parsed) throw new Error("no problem found");
  return parsed.problems.map(({ line, column, text: what }) => `${line}:${column}: ${what}`);
}

test("a service with a command is one workload with the service's name as its account", () => {
  expect(fileOf("services:\n  web:\n    port: 80\n    command: [serve, 80]\n")).toEqual({
    name: "mesh",
    namespace: "default",
    egress: "allowed",
    mtls: "strict",
    config: [],
    configDir: undefined,
    notices: [],
    services: [
      {
        name: "web",
        kind: "sidecar",
        ports: [{ name: "http", port: 80, protocol: "http" }],
        entry: false,
        endpoints: [],
        calls: undefined,
        dependsOn: [],
        versions: [
          {
            version: undefined,
            command: ["serve", "80"],
            position: { line: 4, column: 5 },
            directory: undefined,
            env: {},
            labels: {},
            serviceAccount: "web",
            replicas: 1,
            healthCheck: undefined,
          },
        ],
      },
    ],
  });
});

test("what stands beside the versions is their default, and maps are merged", () => {
  const { services } = fileOf(`services:
  web:
    port: 8080
    command: run
    env: {A: 1, B: true}
    versions:
      v1: {}
      v2: {command: other, env: {B: two}, replicas: 3, serviceAccount: web-two}
`);
  expect(services[0]?.versions).toMatchObject([
    { version: "v1", command: "run", env: { A: "1", B: "true" }, replicas: 1, serviceAccount: "web" },
    { version: "v2", command: "other", env: { A: "1", B: "two" }, replicas: 3, serviceAccount: "web-two" },
  ]);
  expect(services[0]?.versions.map(({ position }) => position.line)).toEqual([4, 8]);
});

test.each(["a/b:80", "*:80", "'a b:80'", "'-x:80'", "user@host:80", "'http://x:80'", "'[::1]x:80'"])(
  "%s is not an address of a service",
  (address) => {
    expect(
      problemsOf(`services: {db: {port: 1, address: ${address.startsWith("'") ? address : `'${address}'`}}}`),
    ).toEqual([expect.stringMatching(/, expected HOST:PORT$/)]);
  },
);

test("an address is split into host and port, brackets removed", () => {
  const { services } = fileOf("services: {db: {port: 5432, protocol: tcp, address: '[fd00::1]:5433'}}");
  expect(services[0]).toMatchObject({ endpoints: [{ host: "fd00::1", port: 5433 }], versions: [] });
});

test("the position of an inline object in the file is preserved", () => {
  const { config } = fileOf(`services: {web: {command: x}}
config:
  - apiVersion: v1
    kind: A
    metadata: {name: a}
  - {apiVersion: v1, kind: B, metadata: {name: b}}
`);
  expect(config.map(({ line }) => line)).toEqual([3, 6]);
});

test.each([
  { title: "an empty file", text: "", says: ["1:1: the file is empty; services is missing"] },
  { title: "no services", text: "name: a\n", says: ["1:1: services is missing"] },
  { title: "services without members", text: "services: {}\n", says: ["1:1: services: is empty"] },
  { title: "broken YAML", text: "services:\n  web: [\n", says: [expect.stringMatching(/^3:1: YAML: /)] },
  {
    title: "an unknown member",
    text: "services:\n  web:\n    comand: x\n",
    says: [expect.stringMatching(/^3:5: services\.web\.comand: "comand" is not known here; did you mean command\?$/)],
  },
  {
    title: "a file of Istio objects",
    text: "apiVersion: networking.istio.io/v1\nkind: Gateway\n---\napiVersion: networking.istio.io/v1\nkind: Sidecar\n",
    says: [
      "1:1: this is a file of Istio objects, not a mesh file; mesh apply -f takes it, and with --dry-run only looks at it",
    ],
  },
  {
    title: "a port out of range",
    text: "services:\n  web:\n    port: 70000\n    command: x\n",
    says: ["3:5: services.web.port: is 70000, allowed are 1 to 65535"],
  },
  {
    title: "a port that is no whole number",
    text: "services:\n  web:\n    port: 80.5\n    command: x\n",
    says: ["3:5: services.web.port: is 80.5, expected an integer"],
  },
  {
    title: "a protocol no one knows",
    text: "services:\n  web: {port: 80, protocol: gopher, command: x}\n",
    says: ['2:19: services.web.protocol: is "gopher", allowed are http, http2, grpc, tcp'],
  },
  {
    title: "a name that is no DNS label",
    text: "services:\n  Web_1: {command: x}\n",
    says: [expect.stringMatching(/^2:3: services\.Web_1: the name is "Web_1", expected at most 40 small letters/)],
  },
  {
    title: "nothing to run",
    text: "services:\n  web: {port: 80}\n",
    says: ["2:3: services.web: command, versions, address or endpoints is missing"],
  },
  {
    title: "a version without command",
    text: "services:\n  web:\n    versions:\n      v1: {}\n",
    says: ["4:7: services.web.versions.v1: command is missing, here and beside versions"],
  },
  {
    title: "an address without a port that exists",
    text: "services: {db: {port: 1, address: 'db:0'}, dc: {port: 1, address: 'db:65536'}}",
    says: [
      "1:26: services.db.address: the port must be from 1 to 65535",
      "1:58: services.dc.address: the port must be from 1 to 65535",
    ],
  },
  {
    title: "a word that no process can have",
    text: 'services: {web: {command: [x, "a\\0b"], env: {A: "\\0"}}}',
    says: [
      expect.stringMatching(/^1:31: services\.web\.command\[1\]: is "a\\u0000b", which has a NUL character/),
      expect.stringMatching(/^1:46: services\.web\.env\.A: /),
    ],
  },
  {
    title: "labels that the control plane refuses",
    text: "services: {web: {command: x, labels: {a b: c, good.org/tier: new, x/y/z: ok, d: e f, n: 5, empty: ''}}}",
    says: [
      expect.stringMatching(/^1:39: services\.web\.labels\.a b: the name is "a b", expected at most 63 letters/),
      expect.stringMatching(/^1:67: services\.web\.labels\.x\/y\/z: the name /),
      expect.stringMatching(/^1:78: services\.web\.labels\.d: is "e f", expected at most 63 letters/),
    ],
  },
  {
    title: "another app than the service",
    text: "services:\n  web: {command: x, labels: {app: web}, versions: {v1: {labels: {app: other}}}}\n",
    says: ["2:66: services.web.versions.v1.labels.app: is always web, after the service"],
  },
  {
    title: "a service that is called as another's replica",
    text: "services:\n  web: {command: x, replicas: 2}\n  web-2: {command: x}\n",
    says: ["3:3: services.web-2: has a workload web-2, as service web has; rename one"],
  },
  {
    title: "a version that is called as another's replica",
    text: "services:\n  web: {command: x, versions: {v1: {replicas: 2}, v1-1: {}}}\n",
    says: ["2:3: services.web: has a workload web-v1-1, as it has already; rename one"],
  },
  {
    title: "command and address",
    text: "services:\n  web:\n    address: a:1\n    command: x\n",
    says: [
      "2:3: services.web: port is missing: a service with an address needs one",
      "4:5: services.web.command: does not go together with address: that runs already",
    ],
  },
  {
    title: "a call to a service that is not there",
    text: "services:\n  web:\n    command: x\n    calls: [stok]\n  stock: {port: 80, command: y}\n",
    says: ['4:13: services.web.calls[0]: "stok" is not a service with a port, there are stock'],
  },
  {
    title: "several mistakes",
    text: "services:\n  a: {port: x, command: y}\n  b: {replicas: 0, command: y}\n",
    says: ['2:7: services.a.port: is "x", expected an integer', "3:7: services.b.replicas: is 0, allowed are 1 to 50"],
  },
])("$title is reported with line and column", ({ text, says }) => {
  expect(problemsOf(text)).toEqual(says);
});

test("the example that mesh init writes is valid", () => {
  expect(fileOf(exampleFile()).services.length).toBeGreaterThan(1);
});

test("a text that nests too deeply is refused with the limit", () => {
  const parsed = parseMeshFile(`services: ${"[".repeat(20_000)}`);
  expect("problems" in parsed && parsed.problems[0]?.text).toBe(
    "YAML: nested too deeply, at most 500 levels are allowed",
  );
});

test("any text gives a file or problems, never a throw", () => {
  const piece = fc.constantFrom(
    "services",
    ":",
    "\n",
    "  ",
    "- ",
    "{",
    "}",
    "[",
    "web",
    "port",
    "80",
    "&a",
    "*a",
    "<<",
    "'",
    "|",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const parsed = parseMeshFile(pieces.join(""));
      expect("file" in parsed || parsed.problems.length > 0).toBe(true);
    }),
  );
});

test.each([
  {
    text: "isolation: none\nservices: {a: {command: x}}\n",
    says: "1:1: isolation: is not known here: it holds for the whole mesh",
  },
  {
    text: "services: {a: {command: x, namespace: b}}\n",
    says: "1:28: services.a.namespace: is not known here: all services are in",
  },
  {
    text: "services: {a: {command: x, proxyless: true}}\n",
    says: "1:28: services.a.proxyless: is not known here: a service of gRPC programs",
  },
])("what is decided elsewhere is reported where: $says", ({ text, says }) => {
  const parsed = parseMeshFile(text);
  const [problem] = "problems" in parsed ? parsed.problems : [];
  expect(`${problem?.line}:${problem?.column}: ${problem?.text}`).toContain(says);
});
