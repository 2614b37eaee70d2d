import { expect, test } from "vitest";
import { awaySince, type KindFreshness } from "./kubernetes-source.ts";
import { ageSeconds, ownFreshness, readinessDetails } from "./source-freshness.ts";

const NOW = 1_000_000;
const kind = (given: Partial<KindFreshness> = {}): KindFreshness => ({
  resource: "pods",
  provedAt: NOW - 1000,
  state: "watching",
  resourceVersion: "1",
  problem: undefined,
  problemCode: undefined,
  isSynced: true,
  objects: 0,
  repaired: 0,
  ...given,
});
const lost = kind({ state: "waiting", problem: "cannot watch pods: refused", problemCode: "unreachable" });

test("a cluster is away since its last proof when no kind is followed, and not while one is", () => {
  expect(awaySince([lost, { ...lost, provedAt: NOW - 5000 }])).toBe(NOW - 1000);
  expect(awaySince([lost, kind()])).toBeUndefined();
  // The server answers again; the problem is over with the next proof.
  expect(awaySince([{ ...lost, state: "watching" }])).toBeUndefined();
  expect(awaySince([])).toBeUndefined();
});

test("the age of a cluster is that of its oldest kind, and none before the first proof", () => {
  expect(ageSeconds({ kinds: [kind(), kind({ provedAt: NOW - 60_000 })] }, NOW)).toBe(60);
  expect(ageSeconds({ kinds: [kind({ provedAt: undefined })] }, NOW)).toBeUndefined();
  // A clock that was set back.
  expect(ageSeconds({ kinds: [kind({ provedAt: NOW + 5000 })] }, NOW)).toBe(0);
});

test.each([
  { kinds: [kind()], says: [] },
  { kinds: [], says: [] },
  { kinds: [lost], says: ["cluster own is away for 1 s, its endpoints are stale: cannot watch pods: refused"] },
  {
    kinds: [kind(), kind({ resource: "nodes", isSynced: false, problem: "cannot list nodes: 403", state: "waiting" })],
    says: ["cluster own: nodes: cannot list nodes: 403"],
  },
  { kinds: [kind({ isSynced: false })], says: ["cluster own is not known: no answer yet"] },
])("readiness says $says", ({ kinds, says }) => {
  expect(readinessDetails([ownFreshness("own", "Kubernetes", kinds)], NOW)).toEqual(says);
});

test("a remote cluster that was let go, or whose kubeconfig is wrong, is named with the reason", () => {
  const remote = { id: "east", provider: "Kubernetes", secret: "s/remote" } as const;
  expect(
    readinessDetails(
      [
        { ...remote, state: "let-go", awaySince: NOW - 9000, kinds: [lost] },
        { ...remote, state: "failed", problem: "exec is not allowed", kinds: [] },
        { ...remote, state: "synced", problem: "the new kubeconfig is not YAML", kinds: [kind()] },
      ],
      NOW,
    ),
  ).toEqual([
    "cluster east is away for 9 s, its endpoints were let go: cannot watch pods: refused",
    "cluster east is not known: exec is not allowed",
    "cluster east: the new kubeconfig is not YAML",
  ]);
});
