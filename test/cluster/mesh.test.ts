import { expect, test } from "vitest";
import { startMeshCluster } from "../support/cluster/start-mesh-cluster.ts";
import { leftOvers } from "../support/kubernetes/node/start-world.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { testFaults } from "./faults.ts";
import { testPods } from "./pods.ts";
import { testTraffic } from "./traffic.ts";

/** A machine has one such cluster at a time, and its start takes most of a minute: all tests share it, in this order. */
const place = sharedPlace(
  ["cluster", "helm", "envoy"],
  startMeshCluster,
  (cluster) => cluster.untilRolledOut("web", "api-v1", "api-v2"),
  600_000,
);

testPods(place);
testTraffic(place);
testFaults(place);

test("a cluster that is stopped leaves no link, route, control group or mount on the machine", async () => {
  expect(await leftOvers()).not.toEqual([]);
  await place().stop();
  expect(await leftOvers()).toEqual([]);
});
