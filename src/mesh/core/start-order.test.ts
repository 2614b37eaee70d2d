import { expect, test } from "vitest";
import { parseMeshFile } from "./parse-mesh-file.ts";
import { previewPlan } from "./plan-mesh.ts";
import { inStartOrder, startObjection } from "./start-order.ts";

const parsed = parseMeshFile(`services:
  web: {command: x, depends_on: {db: {}, cache: {condition: started}}}
  cache: {command: x, depends_on: [db]}
  db: {command: x, replicas: 2}
  outside: {port: 1, address: "h:1"}
  far: {command: x, depends_on: [outside]}
`);
if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
const plan = previewPlan(parsed.file);
const workload = (name: string) => {
  const found = plan.workloads.find((each) => each.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

function objection(name: string, options: { readonly ready: readonly string[]; readonly started: readonly string[] }) {
  return startObjection(plan, workload(name), {
    isStarted: (other) => options.started.includes(other.name),
    obstacle: async (other) => (options.ready.includes(other.name) ? undefined : `${other.name}/app: not yet`),
  });
}

test("every workload of a service is waited for, by its condition", async () => {
  expect(await objection("web", { ready: ["db-1"], started: ["cache"] })).toBe("waits for db (db-2/app: not yet)");
  expect(await objection("web", { ready: ["db-1", "db-2"], started: [] })).toBe("waits for cache (not started yet)");
  expect(await objection("web", { ready: ["db-1", "db-2"], started: ["cache"] })).toBeUndefined();
});

test("what runs elsewhere has no workload to wait for", async () => {
  expect(await objection("far", { ready: [], started: [] })).toBeUndefined();
});

test("changed workloads restart behind those that they depend on", () => {
  const items = ["web", "cache", "db-1", "db-2"].map((name) => ({ after: workload(name) }));
  expect(inStartOrder(items).map(({ after }) => after.name)).toEqual(["db-1", "db-2", "cache", "web"]);
});
