import { expect, test } from "vitest";
import { createPodIndex, impersonationProblem } from "./impersonation.ts";

const pods = createPodIndex();
pods.set("mesh/agent-1", { uid: "u1", namespace: "mesh", account: "agent", node: "node-1" });
pods.set("mesh/agent-2", { uid: "u2", namespace: "mesh", account: "agent", node: "node-2" });
pods.set("mesh/agent-3", { uid: "u3", namespace: "mesh", account: "agent", node: "" });
pods.set("mesh/agent-4", { uid: "u4", namespace: "mesh", account: "other", node: "node-1" });
pods.set("shop/web-1", { uid: "w1", namespace: "shop", account: "web", node: "node-1" });
const rules = { trusted: new Set(["mesh/agent"]), trustDomain: "td", pods };
const AGENT = "spiffe://td/ns/mesh/sa/agent";
const WEB = "spiffe://td/ns/shop/sa/web";

test.each([
  { pod: { name: "agent-1", uid: "u1" }, says: undefined },
  { pod: { name: "agent-2", uid: "u2" }, says: "no instances of shop/web found on node node-2" },
  { pod: { name: "agent-1", uid: "old" }, says: "pod mesh/agent-1 has uid u1, the token is for old" },
  { pod: { name: "agent-3", uid: "u3" }, says: "pod mesh/agent-3 is on no node yet" },
  { pod: { name: "agent-4", uid: "u4" }, says: "pod mesh/agent-4 runs as other, the token is of agent" },
  { pod: { name: "agent-9", uid: "u9" }, says: "pod mesh/agent-9 is not known" },
  { pod: { name: "", uid: "" }, says: "the token is not bound to a pod, so that its node is not known" },
])("a trusted account in pod $pod: $says", ({ pod, says }) => {
  expect(impersonationProblem({ identity: AGENT, pod }, WEB, rules)).toBe(says);
});

test.each([
  { identity: WEB, wanted: AGENT, says: "shop/web is not among CA_TRUSTED_NODE_ACCOUNTS (mesh/agent)" },
  { identity: "agent", wanted: WEB, says: "agent is not among CA_TRUSTED_NODE_ACCOUNTS (mesh/agent)" },
  { identity: AGENT, wanted: "web", says: '"web" is not spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/ACCOUNT' },
  {
    identity: AGENT,
    wanted: "spiffe://foreign/ns/shop/sa/web",
    says: "trust domain foreign is not that of the mesh, td",
  },
])("$identity asks for $wanted: $says", ({ identity, wanted, says }) => {
  expect(impersonationProblem({ identity, pod: { name: "agent-1", uid: "u1" } }, wanted, rules)).toBe(says);
});

test("an identity is on a node until its last pod is gone or elsewhere", () => {
  const index = createPodIndex();
  const web = (node: string) => ({ uid: "u", namespace: "shop", account: "web", node });
  index.set("shop/a", web("n"));
  index.set("shop/b", web("n"));
  index.set("shop/a", undefined);
  index.set("shop/gone", undefined);
  expect(index.has({ namespace: "shop", account: "web", node: "n" })).toBe(true);
  index.set("shop/b", web("m"));
  expect(index.has({ namespace: "shop", account: "web", node: "n" })).toBe(false);
});
