import { expect, test } from "vitest";
import { type FileSurroundings, parseMeshFile, problemText } from "./parse-mesh-file.ts";

function around(files: Readonly<Record<string, string>> = {}, env: FileSurroundings["env"] = {}): FileSurroundings {
  return {
    env,
    readText(path) {
      const text = files[path];
      if (text === undefined) throw new Error("cannot be read: there is no such file");
      return text;
    },
  };
}

function fileOf(text: string, given?: FileSurroundings) {
  const parsed = parseMeshFile(text, given);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.file;
}

function problemsOf(text: string, given?: FileSurroundings): readonly string[] {
  const parsed = parseMeshFile(text, given);
  if ("file" in parsed) throw new Error("no problem found");
  return parsed.problems.map((problem) => problemText(problem, "mesh.yaml"));
}

test("variables stand for texts, numbers and booleans; shells and Istio objects have dollar signs of their own", () => {
  const text = `name: \${NAME}
services:
  web:
    port: \${PORT:-8080}
    entry: \${ENTRY}
    command: [serve, "\${WORD} $(PORT)", "$\${x}"]
    env: {A: "\${PORT:-007}", B: "$$5"}
    versions: {v1: {}, v2: {command: "exec run \${PORT:-x} $$"}}
config:
  - {apiVersion: a/v1, kind: K, metadata: {name: "\${NAME}"}}
`;
  const { name, services, config } = fileOf(text, around({}, { NAME: "shop", ENTRY: "true", WORD: "hi" }));
  expect(name).toBe("shop");
  expect(services[0]).toMatchObject({ ports: [{ port: 8080 }], entry: true });
  expect(services[0]?.versions.map(({ command }) => command)).toEqual([
    ["serve", "hi $(PORT)", "${x}"],
    "exec run ${PORT:-x} $$",
  ]);
  expect(services[0]?.versions[0]?.env).toEqual({ A: "007", B: "$5" });
  expect(config[0]?.value).toMatchObject({ metadata: { name: "${NAME}" } });
});

test("a variable that is not set, or makes a value wrong, is reported where it stands", () => {
  const text = "services:\n  web:\n    port: ${PORT}\n    command: x\n    env: {A: '${A:?say A}'}\n";
  expect(problemsOf(text)).toEqual([
    "mesh.yaml:3:5: services.web.port: the variable PORT is not set; set it, or give a default: ${PORT:-...}",
    "mesh.yaml:5:11: services.web.env.A: A: say A",
    'mesh.yaml:3:5: services.web.port: is "${PORT}", expected an integer',
  ]);
  expect(problemsOf(text, around({}, { PORT: "http", A: "1" }))).toEqual([
    'mesh.yaml:3:5: services.web.port: is "http", expected an integer',
  ]);
});

test("env files are merged in their order, below env", () => {
  const files = { "a.env": "A=1\nB=1\nC=1\nD=1\n", "b.env": "B=2\nC=2\nD=${A}\n", "v.env": "C=3\n" };
  const text = `services:
  web:
    command: x
    env_file: [a.env, b.env]
    env: {A: own}
    versions: {v1: {}, v2: {env_file: v.env}}
`;
  const [web] = fileOf(text, around(files)).services;
  expect(web?.versions.map(({ env }) => env)).toEqual([
    { A: "own", B: "2", C: "2", D: "1" },
    { A: "own", B: "2", C: "3", D: "1" },
  ]);
});

test("an env file that is missing is reported in the mesh file, a mistake in one in that file", () => {
  const text =
    "services:\n  web:\n    command: x\n    env_file: [no.env, bad.env]\n  b: {command: x, env_file: bad.env}\n";
  expect(problemsOf(text, around({ "bad.env": "A=1\nB C\n" }))).toEqual([
    "mesh.yaml:4:16: services.web.env_file[0]: no.env cannot be read: there is no such file",
    'bad.env:2:1: "B C" is not NAME=value',
  ]);
});

test("depends_on has a short and a long form", () => {
  const text = `services:
  a: {command: x, depends_on: [b]}
  b: {command: x, depends_on: {c: {condition: started}, d: {}}}
  c: {command: x}
  d: {port: 1, address: "h:1"}
`;
  expect(fileOf(text).services.map(({ dependsOn }) => dependsOn)).toEqual([
    [{ service: "b", condition: "healthy" }],
    [
      { service: "c", condition: "started" },
      { service: "d", condition: "healthy" },
    ],
    [],
    [],
  ]);
});

test("what cannot be waited for is reported with its line", () => {
  const text = `services:
  a: {command: x, depends_on: [b]}
  b: {command: x, depends_on: {c: {}}}
  c:
    command: x
    depends_on:
      - a
      - nobody
  d: {command: x, depends_on: [d]}
  e: {command: x, depends_on: {f: {condition: started}}}
  f: {port: 1, address: "h:1"}
`;
  expect(problemsOf(text)).toEqual([
    "mesh.yaml:2:32: services.a.depends_on[0]: is a cycle: a waits for b waits for c waits for a",
    "mesh.yaml:3:32: services.b.depends_on.c: is a cycle: b waits for c waits for a waits for b",
    "mesh.yaml:7:9: services.c.depends_on[0]: is a cycle: c waits for a waits for b waits for c",
    'mesh.yaml:8:9: services.c.depends_on[1]: "nobody" is not a service of this file, there are a, b, d, e, f',
    "mesh.yaml:9:32: services.d.depends_on[0]: is a cycle: d waits for d",
    "mesh.yaml:10:32: services.e.depends_on.f: f runs elsewhere and is not started here",
  ]);
  expect(problemsOf("services:\n  a: {command: x, depends_on: {b: {condition: done}}}\n  b: {command: x}\n")).toEqual([
    'mesh.yaml:2:36: services.a.depends_on.b.condition: is "done", allowed are started, healthy',
  ]);
});

test("health checks are of one kind, with times in words", () => {
  const text = `services:
  a: {port: 80, command: x, healthcheck: {http: /up, interval: 1m30s, timeout: 500ms, retries: 5, start_period: 2s}}
  b: {port: 81, command: x, healthcheck: {tcp: connect}, versions: {v1: {}, v2: {healthcheck: {command: [t, 1]}}}}
`;
  expect(fileOf(text).services.map(({ versions }) => versions.map(({ healthCheck }) => healthCheck))).toEqual([
    [
      {
        probe: { kind: "http", path: "/up", port: 80 },
        intervalMs: 90_000,
        timeoutMs: 500,
        retries: 5,
        startPeriodMs: 2000,
      },
    ],
    [
      { probe: { kind: "tcp", port: 81 }, intervalMs: 5000, timeoutMs: 2000, retries: 3, startPeriodMs: 0 },
      {
        probe: { kind: "command", command: ["t", "1"] },
        intervalMs: 5000,
        timeoutMs: 2000,
        retries: 3,
        startPeriodMs: 0,
      },
    ],
  ]);
});

test.each([
  ["{}", "healthcheck: has none of them, exactly one of http, tcp and command is needed"],
  ["{http: /, command: x}", "healthcheck: has http and command, exactly one of http, tcp and command is needed"],
  ["{http: up}", 'healthcheck.http: is "up", expected a path that begins with a slash'],
  ["{http: /, interval: 5}", "healthcheck.interval: is 5, expected a string"],
  ["{http: /, port: 81}", "healthcheck.port: is 81, the service has 80"],
  ["{command: x, port: 80}", "healthcheck.port: does not go together with command"],
])("the health check %s is refused: %s", (check, says) => {
  const [problem] = problemsOf(`services:\n  a: {port: 80, command: x, healthcheck: ${check}}\n`);
  expect(problem?.replace(/^mesh\.yaml:2:\d+: services\.a\./, "")).toBe(says);
});

test("ports have names and protocols; the short form is called after its protocol", () => {
  const text =
    "services:\n  a: {command: x, ports: {web: 80, grpc: 81, raw: {port: 82, protocol: tcp}}}\n  b: {port: 5, protocol: tcp, command: x}\n";
  expect(fileOf(text).services.map(({ ports }) => ports)).toEqual([
    [
      { name: "web", port: 80, protocol: "http" },
      { name: "grpc", port: 81, protocol: "grpc" },
      { name: "raw", port: 82, protocol: "tcp" },
    ],
    [{ name: "tcp", port: 5, protocol: "tcp" }],
  ]);
});

test.each([
  ["{port: 80, ports: {a: 81}, command: x}", "port: does not go together with ports"],
  ["{ports: {a: 81, b: 81}, command: x}", "ports.b: is 81, as a is already"],
  ["{ports: {a: {protocol: tcp}}, command: x}", "ports.a: port is missing"],
  [
    "{ports: {A: 81}, command: x}",
    'ports.A: the name is "A", expected at most 15 small letters, digits and dashes, beginning with a letter',
  ],
  ["{kind: gateway}", "port or ports is missing: what a gateway opens on this machine"],
  [
    "{kind: gateway, port: 80, command: x}",
    "command: does not go together with kind gateway: an Envoy runs there alone",
  ],
  [
    "{kind: proxyless, port: 80, command: x, entry: true}",
    "entry: does not go together with kind proxyless: its program alone decides what it accepts",
  ],
  ["{endpoints: [{address: h}]}", "port is missing: a service with endpoints needs one"],
  ["{port: 80, endpoints: [{address: h}], replicas: 2}", "replicas: needs a command: endpoints run already"],
  [
    "{ports: {a: 1, b: 2}, endpoints: [{address: h, port: 3}]}",
    "endpoints[0].port: is not clear where the service has several ports; they are the same there",
  ],
  ["{port: 80, endpoints: [{}]}", "endpoints[0]: address is missing"],
  [
    "{image: nginx}",
    "image: is not known here: it is a member of compose files; a mesh file takes one over with import: docker-compose.yaml",
  ],
])("%s is refused: %s", (service, says) => {
  const [problem] = problemsOf(`services:\n  a: ${service}\n`);
  expect(problem?.replace(/^mesh\.yaml:2:\d+: services\.a(\.|: )/, "")).toBe(says);
});

test("a gateway has the label that Gateway objects of a cluster select, unless it is given another", () => {
  const text =
    "services:\n  in: {kind: gateway, port: 80}\n  out: {kind: gateway, port: 81, labels: {istio: egress}}\n  a: {command: x}\n";
  const file = fileOf(text);
  expect(file.services.map(({ versions }) => versions[0]?.labels)).toEqual([
    { istio: "ingressgateway" },
    { istio: "egress" },
    {},
  ]);
  expect(problemsOf("services:\n  in: {kind: gateway, port: 80}\n  a: {command: x, calls: [in]}\n")).toEqual([
    'mesh.yaml:3:27: services.a.calls[0]: "in" is a gateway, which is called from outside, there are none',
  ]);
});
