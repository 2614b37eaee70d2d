import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildIstioObjects } from "./istio-objects.ts";
import { formatChanges, meshChanges, plansTogether } from "./mesh-changes.ts";
import type { Isolation, MeshPlan } from "./mesh-plan.ts";
import { parseMeshFile } from "./parse-mesh-file.ts";
import { assignNumbers, planMesh, portsNeeded } from "./plan-mesh.ts";

let nextPort = 20_000;

function planOf(services: string, isolation: Isolation = "none", before?: MeshPlan): MeshPlan {
  const parsed = parseMeshFile(`services:\n${services}`);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  const ports = Array.from({ length: portsNeeded(parsed.file, before) }, () => (nextPort += 1));
  return planMesh(parsed.file, { isolation, slot: 3, ports, before });
}

const WEB = "  web: {port: 8080, command: web, calls: [hello]}\n";
const HELLO = "  hello: {port: 8080, command: hello, calls: [], replicas: 2}\n";

function textOf(from: string, to: string, isolation: Isolation = "none"): string {
  const before = planOf(from, isolation);
  return formatChanges(meshChanges(before, planOf(to, isolation, before)));
}

describe.each(["none", "namespaces"] as const)("%s", (isolation) => {
  test("what stays keeps its addresses and ports, regardless of what comes before it", () => {
    const before = planOf(WEB + HELLO, isolation);
    const after = planOf(`  first: {port: 80, command: x, calls: []}\n${HELLO}${WEB}`, isolation, before);
    for (const old of before.workloads) expect(after.workloads).toContainEqual({ ...old, position: expect.anything() });
    for (const old of before.services) expect(after.services).toContainEqual(old);
    expect(after.controlPlane).toEqual(before.controlPlane);
    const { added, changed, removed, unchanged } = meshChanges(before, after);
    expect([added.length, changed.length, removed.length, unchanged.length]).toEqual([1, 0, 0, 3]);
    const addresses = after.workloads.map(({ address }) => address);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  test("no one gets the address of one who may still be there", () => {
    const before = planOf(WEB + HELLO, isolation);
    const after = planOf(`${HELLO}  other: {port: 8080, command: x, calls: []}\n`, isolation, before);
    const old = new Set(before.workloads.map(({ address }) => address));
    const other = after.workloads.find(({ name }) => name === "other");
    expect(old.has(other?.address ?? "")).toBe(false);
    // Once it is gone for good its number is free again.
    const later = planOf(`${HELLO}  other: {port: 8080, command: x, calls: []}\n${WEB}`, isolation, after);
    expect(later.workloads.find(({ name }) => name === "web")?.number).toBe(0);
  });
});

test.each([
  ["command", WEB.replace("command: web", "command: web2"), "restarts: command"],
  ["directory", WEB.replace("{", "{directory: d, "), "restarts: directory"],
  ["environment", WEB.replace("{", "{env: {A: b}, "), "restarts: env"],
  ["labels", WEB.replace("{", "{labels: {a: b}, "), "restarts: labels"],
  ["account", WEB.replace("{", "{serviceAccount: me, "), "restarts: serviceAccount"],
  ["calls", WEB.replace("[hello]", "[]"), "restarts: calls"],
])("a changed %s restarts the workload", (_, changed, text) => {
  expect(textOf(WEB + HELLO, changed + HELLO)).toContain(`~ web  ${text} (the only one: calls fail meanwhile)\n`);
});

test("one of several is not alone, and two kinds of one service help each other out", () => {
  const text = textOf(WEB + HELLO, WEB + HELLO.replace("command: hello", "command: bye"));
  expect(text).toBe(
    "  ~ hello-1  restarts: command\n  ~ hello-2  restarts: command\n  1 of 3 workloads stay as they are\n",
  );
  const kinds = "  k: {port: 80, command: x, calls: [], versions: {v1: {}, v2: {}}}\n";
  expect(textOf(kinds, kinds.replace("v1: {}", "v1: {env: {A: b}}"))).toBe(
    "  ~ k-v1  restarts: env\n  1 of 2 workloads stay as they are\n",
  );
});

test("where it stands in the file makes no difference, nor does a rule about a service", () => {
  expect(textOf(WEB + HELLO, `\n\n${HELLO}${WEB}`)).toBe("nothing changes\n");
  expect(textOf(WEB + HELLO, WEB.replace("{", "{entry: true, ") + HELLO)).toBe(
    "  service web: entry false becomes true\n  3 of 3 workloads stay as they are\n",
  );
});

test("a workload that may call everything is not restarted for one service more or less, but for another port", () => {
  const all = "  all: {command: x}\n";
  const more = "  more: {port: 81, command: x, calls: []}\n";
  expect(textOf(all + HELLO, all + HELLO + more)).toBe(
    "  service more is new, on port 81\n  + more  starts\n  3 of 3 workloads stay as they are\n",
  );
  expect(textOf(all + HELLO + more, all + HELLO)).toContain("service more goes away\n  - more  ends\n  3 of 4");
  expect(textOf(all + HELLO, all + HELLO.replace("8080", "8081"))).toContain("~ all  restarts: calls\n");
});

test("a changed port reaches the application only where it listens on it itself", () => {
  const to = WEB.replace("port: 8080", "port: 8081") + HELLO;
  expect(textOf(WEB + HELLO, to, "none")).toBe(
    "  service web: port 8080 becomes 8081\n  3 of 3 workloads stay as they are\n",
  );
  expect(textOf(WEB + HELLO, to, "namespaces")).toContain("~ web  restarts: port");
});

test("a service that runs elsewhere shows its new address, also behind a relay", () => {
  const db = "  db: {port: 5432, protocol: tcp, address: 192.0.2.1:5432}\n";
  for (const isolation of ["none", "namespaces"] as const)
    expect(textOf(HELLO + db, HELLO + db.replace("2.1", "2.2"), isolation)).toContain(
      "service db: address 192.0.2.1:5432 becomes 192.0.2.2:5432\n",
    );
});

test("one that has lost its processes is started again", () => {
  const plan = planOf(WEB + HELLO);
  const { changed } = meshChanges(plan, plan, ({ name }) => name !== "web");
  expect(changed.map(({ after, why }) => [after.name, why])).toEqual([["web", ["does not run"]]]);
});

test("while changes are made everything is there: the old until it is replaced, the new from the beginning", () => {
  const before = planOf(WEB + HELLO);
  const after = planOf(
    `${HELLO.replace("command: hello", "command: bye")}  more: {port: 81, command: x}\n`,
    "none",
    before,
  );
  const { workloads, services } = plansTogether(before, after);
  expect(workloads.map(({ name, command }) => `${name} ${command}`)).toEqual([
    "hello-1 hello",
    "hello-2 hello",
    "more x",
    "web web",
  ]);
  expect(services.map(({ name }) => name)).toEqual(["hello", "more", "web"]);
});

test("a workload that stands aside is the endpoint of a service that no one sees", () => {
  const plan = planOf(WEB + HELLO, "namespaces");
  const objects = buildIstioObjects(plan, "strict", new Set(["hello-2"]));
  const endpoints = (name: string) =>
    (
      objects.find(({ kind, metadata }) => kind === "ServiceEntry" && metadata.name === name)?.spec as
        | { readonly endpoints: readonly { readonly address: string }[] }
        | undefined
    )?.endpoints.map(({ address }) => address);
  const address = (name: string) => plan.workloads.find((each) => each.name === name)?.address;
  expect(endpoints("hello")).toEqual([address("hello-1")]);
  expect(endpoints("hello-aside")).toEqual([address("hello-2")]);
  expect(objects.find(({ metadata }) => metadata.name === "hello-aside")?.spec).toMatchObject({
    hosts: ["aside.hello.default.svc.cluster.local"],
    exportTo: ["~"],
  });
  expect(buildIstioObjects(plan, "strict").some(({ metadata }) => metadata.name.endsWith("-aside"))).toBe(false);
});

test("numbers are retained, never shared, and as small as can be", () => {
  const names = fc.uniqueArray(fc.constantFrom(..."abcdefghij"));
  fc.assert(
    fc.property(names, names, (first, second) => {
      const before = assignNumbers(first);
      const after = assignNumbers(second, before);
      expect([...before.values()]).toEqual(first.map((_, index) => index));
      for (const name of second) if (before.has(name)) expect(after.get(name)).toBe(before.get(name));
      expect(new Set(after.values()).size).toBe(second.length);
      const fresh = second.filter((name) => !before.has(name)).map((name) => after.get(name));
      expect(fresh).toEqual(fresh.map((_, index) => first.length + index));
    }),
  );
});
