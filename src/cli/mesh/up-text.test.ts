import { expect, test } from "vitest";
import { parseMeshFile, previewPlan } from "../../mesh/index.ts";
import { runningText } from "./up-text.ts";

test("entries are named by what is spoken there, on the workload's address and on localhost", () => {
  const ports = "{web: 8080, admin: {port: 9000, protocol: tcp}, grpc: 9090}";
  const parsed = parseMeshFile(`services: {api: {entry: true, ports: ${ports}, command: x}}`);
  if ("problems" in parsed) throw new Error("invalid");
  const plan = previewPlan(parsed.file);
  const doors = { admin: () => "http://127.0.0.1:1", controlPlane: () => "http://127.0.0.1:2" };
  const mesh = { doors, entries: () => ({ api: "http://localhost:8080", "api/grpc": "grpc://localhost:9090" }) };
  const given = { state: "ready", folder: "/state", call: (words: string) => words, hasConsole: false, mesh };
  const host = plan.workloads[0]?.address;
  expect(runningText(plan, given)).toContain(`From outside the mesh:
  api: http://${host}:8080/ or http://localhost:8080/
  api/admin: tcp://${host}:9000
  api/grpc: grpc://${host}:9090 or grpc://localhost:9090
`);
});
