import { expect, test } from "vitest";
import { unsupportedParts } from "./unsupported.ts";

const sidecar = { id: "sidecar~10.0.0.1~a.ns~ns.svc.cluster.local", metadata: {} };
const of = (...kinds: string[]) => kinds.map((kind) => `kind: ${kind}\nmetadata: {name: a}\n`).join("---\n");

test.each([
  { configYaml: "", node: sidecar, parts: [] },
  { configYaml: of("ServiceEntry", "VirtualService", "Sidecar", "PeerAuthentication"), node: sidecar, parts: [] },
  { configYaml: of("ServiceEntry", "Telemetry", "EnvoyFilter"), node: sidecar, parts: [] },
  { configYaml: of("WasmPlugin", "ProxyConfig"), node: sidecar, parts: ["ProxyConfig", "WasmPlugin"] },
  { configYaml: "", node: { ...sidecar, id: "waypoint~10.0.0.1~a~b" }, parts: ["waypoint node"] },
  { configYaml: of("Gateway"), node: { ...sidecar, id: "router~10.0.0.1~a~b" }, parts: [] },
  { configYaml: "", node: { ...sidecar, metadata: { GENERATOR: "grpc" } }, parts: [] },
  { configYaml: "", node: { ...sidecar, metadata: { GENERATOR: "event" } }, parts: ["generator event"] },
])("what is not built is seen from the files of the case: $parts", ({ configYaml, node, parts }) => {
  expect(unsupportedParts({ configYaml, node })).toEqual(parts);
});
