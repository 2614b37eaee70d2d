import { expect, test } from "vitest";
import type { ResourceProblem } from "../envoy-config/resource-problems.ts";
import type { ProxyNode } from "../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import { resourceConflicts } from "./mesh-figures.ts";

/** Proxies by name, with what cannot be made for each. */
function conflictsOf(problems: Readonly<Record<string, readonly ResourceProblem[]>>) {
  const proxies = Object.keys(problems).map((id) => ({
    node: { id } as ProxyNode,
    view: () => ({ node: { id } }) as ProxyView,
  }));
  return resourceConflicts(proxies, { problems: ({ node }) => problems[node.id] ?? [] });
}

const conflict = (kind: NonNullable<ResourceProblem["conflict"]>, resource: string): ResourceProblem => ({
  effect: "conflict",
  conflict: kind,
  type: "LDS",
  resource,
  reason: `about ${resource}`,
});

test("without problems every metric is there and empty", () => {
  expect(conflictsOf({ web: [] })).toEqual({
    pilot_conflict_outbound_listener_tcp_over_current_tcp: {},
    pilot_conflict_inbound_listener: {},
    pilot_duplicate_envoy_clusters: {},
  });
});

test("each kind of conflict goes to its own metric, by the place", () => {
  const repeated: ResourceProblem = {
    effect: "left-out",
    isRepeated: true,
    type: "CDS",
    resource: "outbound|80||a",
    reason: "there is another",
  };
  expect(
    conflictsOf({
      web: [conflict("outbound-tcp", "0.0.0.0_80"), conflict("inbound-port", "virtualInbound"), repeated],
    }),
  ).toEqual({
    pilot_conflict_outbound_listener_tcp_over_current_tcp: {
      "0.0.0.0_80": { proxy: "web", message: "about 0.0.0.0_80" },
    },
    pilot_conflict_inbound_listener: { virtualInbound: { proxy: "web", message: "about virtualInbound" } },
    pilot_duplicate_envoy_clusters: { "outbound|80||a": { proxy: "web", message: "there is another" } },
  });
});

test("a conflict that many proxies have is shown at the first of them", () => {
  const problems = [conflict("outbound-tcp", "0.0.0.0_80")];
  const found = conflictsOf({ first: problems, second: problems, third: problems });
  expect(found.pilot_conflict_outbound_listener_tcp_over_current_tcp).toEqual({
    "0.0.0.0_80": { proxy: "first", message: "about 0.0.0.0_80" },
  });
});

test("rules that are refused and resources that cannot be made are not conflicts", () => {
  const found = conflictsOf({
    web: [
      { effect: "refused-rule", type: "RDS", resource: "80", reason: "no such thing" },
      { effect: "left-out", type: "CDS", resource: "a", reason: "too long" },
    ],
  });
  expect(Object.values(found)).toEqual([{}, {}, {}]);
});
