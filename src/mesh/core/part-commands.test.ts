import { expect, test } from "vitest";
import type { MeshPlan } from "./mesh-plan.ts";
import { controlPlaneCommand, wrapCommand } from "./part-commands.ts";

const proxy = { uid: 1337, gid: 1337, hasGroups: false };

test.each([
  { title: "nothing", wrapping: { hasSetpriv: false }, words: "app" },
  { title: "the end of the parent", wrapping: { hasSetpriv: true }, words: "setpriv --pdeathsig TERM -- app" },
  { title: "a namespace", wrapping: { netns: "n", hasSetpriv: false }, words: "ip netns exec n app" },
  {
    title: "a namespace and a user without groups",
    wrapping: { netns: "n", user: proxy, hasSetpriv: true },
    words: "ip netns exec n setpriv --reuid=1337 --regid=1337 --clear-groups --pdeathsig TERM -- app",
  },
  {
    title: "a user with groups",
    wrapping: { user: { uid: 1000, gid: 100, hasGroups: true }, hasSetpriv: true },
    words: "setpriv --reuid=1000 --regid=100 --init-groups --pdeathsig TERM -- app",
  },
])("a command is wrapped in $title", ({ wrapping, words }) => {
  expect(wrapCommand(["app"], wrapping).join(" ")).toBe(words);
});

test("the control plane serves agents on its address and plain text on this machine alone", () => {
  const plan = {
    controlPlane: { host: "198.18.3.1", ports: { plaintext: 1, secure: 2, monitoring: 3, http: 4 }, netns: "hub" },
  } as MeshPlan;
  const { words, env } = controlPlaneCommand(plan, { config: "/c", meshConfig: "/m", ca: "/ca" });
  expect(words).toContain("--grpcAddr=127.0.0.1:1");
  expect(words).toContain("--secureGRPCAddr=198.18.3.1:2");
  expect(env).toMatchObject({ ROOT_CA_DIR: "/ca", CLUSTER_ID: "Kubernetes" });
});
