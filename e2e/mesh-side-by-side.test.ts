import { beforeEach, expect, test } from "vitest";
import { ordinaryUser } from "../test/support/mesh/ordinary-user.ts";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";

beforeEach(needs("root", "envoy", "netns", "iptables", "setpriv"));

test("meshes of two users and two of root run side by side, and each ends without the others", async () => {
  using ann = ordinaryUser();
  using bob = ordinaryUser();
  const [port = 0] = await freePorts(1);
  const file = pairFile({ port });
  const none = ["--isolation", "none"];
  // All services have one port: addresses tell the meshes apart.
  await using first = startMeshRun({ file, args: ["--isolation", "namespaces"] });
  await using second = startMeshRun({ file, args: ["--isolation", "namespaces"] });
  await using anns = startMeshRun({ file, args: none, wrapper: ann.wrapper, env: { HOME: ann.home } });
  await using bobs = startMeshRun({ file, args: none, wrapper: bob.wrapper, env: { HOME: bob.home } });
  const meshes: readonly MeshRun[] = [first, second, anns, bobs];
  await Promise.all(meshes.map((mesh) => mesh.untilUp()));
  const answerOf = async (mesh: MeshRun) => (await fetchAnswer(`${(await mesh.status()).entries.web}/`)).body;
  const namesOf = (those: readonly MeshRun[]) => those.map((mesh) => `hello ${mesh.state().name}`);
  expect(await Promise.all(meshes.map(answerOf))).toEqual(namesOf(meshes));

  const gone = [second.state(), anns.state()];
  anns.child.kill("SIGKILL");
  second.child.kill("SIGINT");
  await Promise.all([anns.exited, second.exited]);
  expect((await anns.cli("down")).code).toBe(0);
  for (const state of gone) expect(await leftovers(state)).toEqual([]);
  const left = [first, bobs];
  expect(await Promise.all(left.map(answerOf))).toEqual(namesOf(left));
});
