import { createResourceSource } from "../src/envoy-config/index.ts";
import { createTestMesh, testNode } from "../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject } from "../test/support/mesh-model/test-objects.ts";
import type { Bench, BenchRow } from "./bench.ts";

const SERVICES = 1000;
/** Each is measured so often; the middle one is shown. */
const TURNS = 5;

/**
 * What rules on access and plugins cost the control plane: clusters and listeners of one workload, made from nothing, in a mesh of a
 * thousand services, by processor time.
 */
const policies: Bench = {
  name: "policies",
  async run({ note }) {
    const rows: BenchRow[] = [];
    let base = 0;
    // Code that runs for the first time costs more than what it makes.
    for (let turn = 0; turn < TURNS; turn += 1) generationMs(500);
    for (const count of [0, 500, 2000]) {
      note(`${SERVICES} services, ${count} policies`);
      const turns = Array.from({ length: TURNS }, () => generationMs(count)).sort((a, b) => a - b);
      const value = turns[Math.floor(TURNS / 2)] ?? 0;
      if (count === 0) base = value;
      rows.push({
        name: `clusters and listeners with ${count} policies`,
        value,
        unit: "ms of processor time",
        ...(count > 0 && { ratio: { to: "without policies", value: value / base } }),
        ...(count > 0 && { goal: "grows with the policies that reach the workload, not with policies times ports" }),
      });
    }
    return rows;
  },
};
export default policies;

function generationMs(count: number): number {
  const services = Array.from({ length: SERVICES }, (_, index) =>
    service({ name: `s${index}`, endpoints: [{ address: index === 0 ? "10.10.0.11" : "10.10.1.1" }] }),
  );
  const mesh = createTestMesh(documents(...services, ...Array.from({ length: count }, (_, index) => policy(index))));
  const view = mesh.take().snapshot.view(testNode());
  const source = createResourceSource({ onProblem: () => undefined });
  const before = process.cpuUsage();
  const sizes = (["CDS", "LDS"] as const).map((type) => source.all(view, type).resources.length);
  if (sizes.some((size) => size === 0)) throw new Error("nothing was made");
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function policy(index: number): TestObject {
  const name = `p${index}`;
  const principals = [`cluster.local/ns/default/sa/a${index}`];
  if (index % 10 === 0)
    return {
      kind: "WasmPlugin",
      name,
      spec: { url: `registry.example/p${index}`, match: [{ ports: [{ number: 1 }] }] },
    };
  return {
    kind: "AuthorizationPolicy",
    name,
    spec: { rules: [{ from: [{ source: { principals } }], to: [{ operation: { paths: [`/${index}/*`] } }] }] },
  };
}
