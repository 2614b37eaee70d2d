import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { meshOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { upstreamConnection } from "./connection-pool.ts";

const tcp = (settings: string) => policyOf(`{connectionPool: {tcp: ${settings}}}`).connectionPool;
const keepalive = (tcpKeepalive: object) => ({ upstreamConnectionOptions: { tcpKeepalive } });

test.each([
  { mesh: "", settings: "{maxConnections: 1}", gives: { connectTimeout: "10s" } },
  { mesh: "connectTimeout: 1500ms", settings: "{maxConnections: 1}", gives: { connectTimeout: "1.500s" } },
  { mesh: "connectTimeout: 3s", settings: "{connectTimeout: 250ms}", gives: { connectTimeout: "0.250s" } },
  { mesh: "", settings: "{tcpKeepalive: {}}", gives: { connectTimeout: "10s", ...keepalive({}) } },
  {
    mesh: "",
    settings: "{tcpKeepalive: {probes: 3, time: 7200s, interval: 75s}}",
    gives: {
      connectTimeout: "10s",
      ...keepalive({ keepaliveProbes: 3, keepaliveTime: 7200, keepaliveInterval: 75 }),
    },
  },
  {
    mesh: "",
    settings: "{tcpKeepalive: {time: 10ms}}",
    gives: { connectTimeout: "10s", ...keepalive({ keepaliveTime: 1 }) },
  },
  {
    mesh: "tcpKeepalive: {time: 60s}",
    settings: "{maxConnections: 1}",
    gives: { connectTimeout: "10s", ...keepalive({ keepaliveTime: 60 }) },
  },
  {
    mesh: "tcpKeepalive: {time: 60s}",
    settings: "{tcpKeepalive: {interval: 5s}}",
    gives: { connectTimeout: "10s", ...keepalive({ keepaliveTime: 60, keepaliveInterval: 5 }) },
  },
])("mesh '$mesh' and $settings become $gives", ({ mesh, settings, gives }) => {
  expect(upstreamConnection(meshOfCase(mesh), tcp(settings))).toEqual(gives);
});

test("without settings of a rule the mesh's are taken", () => {
  expect(upstreamConnection(meshOfCase(), undefined)).toEqual({ connectTimeout: "10s" });
});
