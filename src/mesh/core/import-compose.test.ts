import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseMeshFile, problemText } from "./parse-mesh-file.ts";

const FOLDER = join(import.meta.dirname, "../../../test/support/mesh/compose");

function imported(
  name: string,
  options: { readonly more?: string; readonly env?: Readonly<Record<string, string>> } = {},
) {
  const { more = "", env = {} } = options;
  const readText = (path: string) => {
    if (path === ".env") return "TAG=of-the-file\n";
    if (path.endsWith(".env")) return "FROM_FILE=yes\n";
    return readFileSync(join(FOLDER, path), "utf8");
  };
  return parseMeshFile(`import: ${name}\n${more}`, { env, readText });
}

function fileOf(...given: Parameters<typeof imported>) {
  const parsed = imported(...given);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  const { services, notices } = parsed.file;
  return { services, notices: notices.map((notice) => problemText(notice, "mesh.yaml")) };
}

test("a web application with a database: what has a command runs, the database is given an address", () => {
  const { services, notices } = fileOf("web-and-database.yaml", {
    more: 'services: {db: {port: 5432, protocol: tcp, address: "localhost:5432"}}\n',
    env: { TAG: "1.2" },
  });
  expect(services.map(({ name }) => name)).toEqual(["db", "web"]);
  expect(services[1]).toMatchObject({
    ports: [{ name: "http", port: 8000, protocol: "http" }],
    entry: true,
    dependsOn: [{ service: "db", condition: "healthy" }],
  });
  expect(services[1]?.versions[0]).toMatchObject({
    command: "python -m http.server 8000 --bind 0.0.0.0",
    directory: "src",
    env: { DATABASE_URL: "postgres://app:secret@db:5432/app", RELEASE: "1.2", DEBUG: "0" },
    healthCheck: {
      probe: { kind: "command", command: ["curl", "-f", "http://localhost:8000/"] },
      intervalMs: 10_000,
      timeoutMs: 5000,
      retries: 5,
      startPeriodMs: 0,
    },
  });
  expect(notices).toEqual([
    "web-and-database.yaml:3:5: image is not taken over: commands run on this machine as they are (db)",
    "web-and-database.yaml:4:5: volumes is not taken over: commands see this machine's own files (db, web)",
    "web-and-database.yaml:11:5: build is not taken over: commands run on this machine as they are (web)",
    "web-and-database.yaml:15:5: port 8000 is published as 8080 there, as 8000 here (web)",
    "web-and-database.yaml:30:1: volumes is not taken over",
  ]);
});

test("variables of a compose file come from the environment, or else from .env beside it", () => {
  const releaseOf = (env: Readonly<Record<string, string>>) =>
    fileOf("web-and-database.yaml", { env }).services[0]?.versions[0]?.env.RELEASE;
  expect([releaseOf({}), releaseOf({ TAG: "1.2" })]).toEqual(["of-the-file", "1.2"]);
});

test("microservices: lists, anchors, replicas, profiles and names that a mesh does not have", () => {
  const { services, notices } = fileOf("microservices.yaml", { env: { HOME: "/home/me" } });
  expect(services.map(({ name }) => name)).toEqual(["front-end", "orders"]);
  expect(services[0]).toMatchObject({
    ports: [
      { name: "p3000", port: 3000 },
      { name: "p9229", port: 9229 },
    ],
    dependsOn: [{ service: "orders", condition: "started" }],
  });
  expect(services[0]?.versions[0]).toMatchObject({
    command: ["node", "server.js"],
    env: { HOME: "/home/me", LOG_LEVEL: "info", FROM_FILE: "yes" },
  });
  expect(services[1]?.versions[0]).toMatchObject({ command: "sh -c 'exec node orders.js' --verbose", replicas: 3 });
  expect(services[1]?.entry).toBe(false);
  expect(notices).toContain("microservices.yaml:7:3: Front_End is called front-end here");
  expect(notices).toContain(
    "microservices.yaml:30:5: profiles: left out, COMPOSE_PROFILES does not name one (debugger)",
  );
  expect(notices).toContain(
    "microservices.yaml:32:3: left out, as there is no command; give one, or an address, in the mesh file (queue)",
  );
  expect(notices).toContain("microservices.yaml:15:5: depends_on queue is not taken over, as queue is not (Front_End)");
  expect(notices).toContain("microservices.yaml:10:5: port 5353:53/udp is not taken over: only TCP is (Front_End)");
  const withProfile = fileOf("microservices.yaml", { env: { COMPOSE_PROFILES: "debug" } });
  expect(withProfile.services.map(({ name }) => name)).toEqual(["front-end", "orders", "debugger"]);
});

test("jobs and workers: conditions and checks that mean something else here are said", () => {
  const { services, notices } = fileOf("jobs.yaml");
  expect(services.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
    ["migrate", []],
    ["worker", [{ service: "migrate", condition: "started" }]],
    ["scheduler", [{ service: "worker", condition: "healthy" }]],
  ]);
  expect(services[1]?.versions[0]).toMatchObject({
    replicas: 2,
    healthCheck: { probe: { kind: "command", command: "test -e /tmp/worker && echo $HOME" }, intervalMs: 30_000 },
  });
  expect(services[2]?.versions[0]?.healthCheck).toBeUndefined();
  expect(notices).toEqual([
    "jobs.yaml:8:5: depends_on: service_completed_successfully becomes started (worker)",
    "jobs.yaml:12:5: healthcheck.start_interval is not taken over (worker)",
    "jobs.yaml:23:5: networks is not taken over: every service reaches those that it calls (scheduler)",
  ]);
});

test("mistakes are reported in the file where they stand", () => {
  const problemsOf = (parsed: ReturnType<typeof imported>) =>
    "problems" in parsed ? parsed.problems.map((problem) => problemText(problem, "mesh.yaml")) : ["none"];
  expect(
    problemsOf(
      parseMeshFile("import: no.yaml\n", {
        env: {},
        readText: () => {
          throw new Error("cannot be read: there is no such file");
        },
      }),
    ),
  ).toEqual(["mesh.yaml:1:1: import: no.yaml cannot be read: there is no such file"]);
  const compose = (text: string, dotenv = "") => {
    const readText = (path: string) => (path === "c.yaml" ? text : dotenv);
    return parseMeshFile("import: c.yaml\n", { env: {}, readText });
  };
  expect(problemsOf(compose("services:\n  a: {command: x}\n", "A=1\nB C\n"))).toEqual([
    '.env:2:1: "B C" is not NAME=value',
  ]);
  expect(problemsOf(compose("a: ["))[0]).toMatch(/^c\.yaml:1:\d+: YAML: /);
  expect(problemsOf(compose("version: 3\n"))).toEqual(["c.yaml:1:1: services is missing; is this a compose file?"]);
  expect(problemsOf(compose("services:\n  a: {image: x}\n"))).toEqual([
    "mesh.yaml:1:1: import: c.yaml has no service that can run here",
  ]);
  expect(problemsOf(compose("services:\n  a:\n    command: x\n    healthcheck: {test: x, interval: often}\n"))).toEqual(
    ['c.yaml:4:28: services.a.healthcheck.interval: is "often", expected a duration such as 500ms, 30s or 1h30m'],
  );
  expect(problemsOf(compose("services:\n  a:\n    command: ${X:?say X}\n"))).toEqual(["c.yaml:3:5: X: say X"]);
});
