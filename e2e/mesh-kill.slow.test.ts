import { beforeEach, describe, expect, test } from "vitest";
import { wait } from "../src/base/wait.ts";
import type { MeshState } from "../src/mesh/state/mesh-state.ts";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, type MeshRun, ownRules, startMeshRun } from "../test/support/mesh/run.ts";
import { needs, type Requirement } from "../test/support/needs.ts";
import { freePorts } from "../test/support/net/free-ports.ts";

const MODES: readonly { readonly isolation: "namespaces" | "none"; readonly requires: readonly Requirement[] }[] = [
  { isolation: "namespaces", requires: ["envoy", "netns", "iptables", "setpriv"] },
  { isolation: "none", requires: ["envoy"] },
];

const TRIES = 15;
describe.each(MODES)("with isolation $isolation", ({ isolation, requires }) => {
  beforeEach(needs(...requires));

  test(`killed at ${TRIES} moments of its life, mesh down leaves nothing of it`, async () => {
    const [port = 0] = await freePorts(1);
    const start = () => startMeshRun({ file: pairFile({ port }), args: ["--isolation", isolation, "--quiet"] });
    const longestMs = await timeOf(start);
    let seen = 0;
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      // Spread over the whole start, at another place within its part each time.
      const delayMs = ((attempt + Math.random()) / TRIES) * longestMs;
      await using mesh = start();
      await wait(delayMs);
      mesh.child.kill("SIGKILL");
      await mesh.exited;
      const state = stateOf(mesh.state);
      if (state === undefined) continue;
      seen += 1;
      const { code, stderr } = await mesh.cli("down");
      expect([code, stderr], `after ${delayMs} ms`).toEqual([0, ""]);
      expect(await leftovers(state), `after ${delayMs} ms`).toEqual([]);
      expect(await ownRules(state), `after ${delayMs} ms`).toEqual([]);
    }
    expect(seen).toBeGreaterThan(TRIES / 3);
  });
});

/** From before the first thing is made until after all is ready, on this machine. */
async function timeOf(start: () => MeshRun): Promise<number> {
  const startedAt = performance.now();
  await using mesh = start();
  await mesh.untilUp();
  return (performance.now() - startedAt) * 1.25;
}

/** Killed before it has written one, it has made nothing else either. */
function stateOf(read: () => MeshState): MeshState | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
