import { expect, test } from "vitest";
import { unsupportedParts } from "./unsupported.ts";

const sidecar = { id: "sidecar~10.0.0.1~a.ns~ns.svc.cluster.local", metadata: {} };

test.each([
  { node: sidecar, parts: [] },
  { node: { ...sidecar, id: "router~10.0.0.1~a~b" }, parts: [] },
  { node: { ...sidecar, id: "waypoint~10.0.0.1~a~b" }, parts: ["waypoint node"] },
  { node: { ...sidecar, metadata: { GENERATOR: "grpc" } }, parts: [] },
  { node: { ...sidecar, metadata: { GENERATOR: "event" } }, parts: ["generator event"] },
])("what is not built is seen from the node of the case: $parts", ({ node, parts }) => {
  expect(unsupportedParts({ node })).toEqual(parts);
});
