import { startMeshCluster } from "../support/cluster/start-mesh-cluster.ts";
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
