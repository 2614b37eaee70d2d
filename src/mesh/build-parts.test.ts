import { expect, test } from "vitest";
import { agentPart, appPart, appProcessEnvironment, controlPlanePart, type PartInputs } from "./build-parts.ts";
import type { Isolation } from "./core/mesh-plan.ts";
import { parseMeshFile } from "./core/parse-mesh-file.ts";
import { planMesh } from "./core/plan-mesh.ts";
import { stateFolder } from "./state/state-folder.ts";

function inputsFor(isolation: Isolation, env: PartInputs["env"] = {}): PartInputs {
  const parsed = parseMeshFile(
    "services: {web: {port: 8080, command: [serve, $(PORT)], directory: site, env: {A: b}}}",
  );
  if ("problems" in parsed) throw new Error("invalid");
  const ports = Array.from({ length: 20 }, (_, index) => 20_000 + index);
  return {
    plan: planMesh(parsed.file, { isolation, slot: 3, ports }),
    folder: stateFolder("/state"),
    runId: "r1",
    own: { launcher: "/own dir/bin/pilot-agent", node: "/opt/node", envoy: "/opt/envoy" },
    shared: { launcher: "/shared/bin/pilot-agent", node: "/shared/node", envoy: "/shared/envoy" },
    env,
    directory: "/project",
    appUser: isolation === "none" ? undefined : { uid: 1000, gid: 1000, hasGroups: true },
    hasSetpriv: true,
  };
}

function workloadOf({ plan }: PartInputs) {
  const [workload] = plan.workloads;
  if (workload === undefined) throw new Error("no workload");
  return workload;
}

test.each(["none", "namespaces"] as const)(
  "an agent is started by the launcher, with the Node of this mesh and not the path's (%s)",
  (isolation) => {
    const inputs = inputsFor(isolation);
    const part = agentPart(inputs, workloadOf(inputs));
    expect(part.command.join(" ")).toMatch(/ -- \/shared\/bin\/pilot-agent proxy sidecar --proxyLogLevel=warning$/);
    expect(part.env).toMatchObject({
      PILOT_AGENT_NODE: "/shared/node",
      ENVOY_BIN: "/shared/envoy",
      PILOT_AGENT_MESH_RUN: "r1",
    });
    expect(part.directory).toBe("/state/workloads/web");
    expect(part.command.includes("--reuid=1337")).toBe(isolation === "namespaces");
    expect(part.onLogOpened !== undefined).toBe(isolation === "namespaces");
  },
);

test("the control plane runs as this program does, in the hub", () => {
  const part = controlPlanePart(inputsFor("namespaces"));
  expect(part.command.slice(0, 4)).toEqual(["ip", "netns", "exec", "pamesh3-hub"]);
  expect(part.command).toContain("/own dir/bin/pilot-agent");
  expect(part.env).toMatchObject({ PILOT_AGENT_NODE: "/opt/node", ROOT_CA_DIR: "/state/ca" });
});

test("an application has the user's environment, in its own directory, as its user", () => {
  const inputs = inputsFor("namespaces", { HOME: "/home/x", PATH: "/mine", GONE: undefined });
  const part = appPart(inputs, workloadOf(inputs));
  expect(part.command.slice(-2)).toEqual(["serve", "8080"]);
  expect(part.command).toContain("--reuid=1000");
  expect(part.directory).toBe("/project/site");
  expect(part.env).toMatchObject({ HOME: "/home/x", A: "b", PATH: "/mine:/usr/bin:/bin:/usr/sbin:/sbin" });
  expect("GONE" in part.env).toBe(false);
});

test("PILOT_AGENT can be used in a shell's line, regardless of the characters in its path", () => {
  const inputs = inputsFor("none");
  const own = { launcher: "/it's here/pilot-agent", node: "/opt/node" };
  const env = appProcessEnvironment({ ...inputs, own }, workloadOf(inputs));
  expect(env.PILOT_AGENT).toBe("'/it'\\''s here/pilot-agent'");
  expect(env.PATH).toBe("/usr/bin:/bin:/usr/sbin:/sbin");
});

test("an application's own variables do not take away the mark by which its processes are found", () => {
  const inputs = inputsFor("none", { PILOT_AGENT_MESH_RUN: "from outside" });
  const workload = { ...workloadOf(inputs), env: { PILOT_AGENT_MESH_RUN: "mine" } };
  expect(appProcessEnvironment(inputs, workload).PILOT_AGENT_MESH_RUN).toBe("r1");
});

test("MESH_CONSOLE_URL is the console's address where there is one, unless the mesh file says otherwise", () => {
  const inputs = inputsFor("none");
  const consoleUrl = "http://127.0.0.1:15700/";
  const workload = workloadOf(inputs);
  expect("MESH_CONSOLE_URL" in appProcessEnvironment(inputs, workload)).toBe(false);
  expect(appProcessEnvironment({ ...inputs, consoleUrl }, workload).MESH_CONSOLE_URL).toBe(consoleUrl);
  const own = { ...workload, env: { MESH_CONSOLE_URL: "http://elsewhere/" } };
  expect(appProcessEnvironment({ ...inputs, consoleUrl }, own).MESH_CONSOLE_URL).toBe("http://elsewhere/");
});
