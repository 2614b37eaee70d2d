import { describe, expect, test } from "vitest";
import {
  type Connection,
  chooseFilterChain,
  describeChain,
} from "../../../test/support/discovery/choose-filter-chain.ts";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, peerAuthentication, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import type { MtlsMode } from "../../mesh-model/push-snapshot.ts";
import { generateInboundListeners } from "./inbound.ts";

const PORTS = { tcp: 9000, http: 8080, sniffed: 9100, none: 5555 } as const;
const WORKLOAD = {
  kind: "ServiceEntry",
  name: "web",
  spec: {
    hosts: ["web.default.svc.cluster.local"],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [
      { number: PORTS.tcp, name: "tcp", protocol: "TCP" },
      { number: PORTS.http, name: "http", protocol: "HTTP" },
      { number: PORTS.sniffed, name: "auto", protocol: "" },
    ],
    endpoints: [{ address: "10.10.0.11", serviceAccount: "web" }],
  },
};

const CALLS = {
  "plaintext TCP": { speaks: "tcp" },
  "a server that speaks first": { speaks: "nothing" },
  "plaintext HTTP": { speaks: "http" },
  "the application's own TLS": { speaks: "tls", alpn: [], sni: "app.example" },
  "the application's own HTTPS": { speaks: "tls", alpn: ["h2", "http/1.1"] },
  "mesh mTLS carrying HTTP": { speaks: "tls", alpn: ["istio-http/1.1", "istio", "http/1.1"] },
  "mesh mTLS carrying HTTP/2": { speaks: "tls", alpn: ["istio-h2", "istio", "h2"] },
  "mesh mTLS carrying TCP": { speaks: "tls", alpn: ["istio"] },
  "mTLS of a peer that exchanges metadata": { speaks: "tls", alpn: ["istio-peer-exchange", "istio"] },
} as const satisfies Record<string, Omit<Connection, "port">>;
type Call = keyof typeof CALLS;

const listenerUnder = (mtls: object, ...more: readonly TestObject[]) => {
  const text = documents(WORKLOAD, peerAuthentication("mesh", "istio-system", { mtls }), ...more);
  const view = createTestMesh(text)
    .take()
    .snapshot.view(testNode({ labels: { app: "web" } }));
  const [listener = {}] = generateInboundListeners(view).listeners;
  return listener;
};
const outcome = (mode: MtlsMode, call: Call, port: number) =>
  describeChain(chooseFilterChain(listenerUnder({ mode }), { port, ...CALLS[call] }));

const [TCP, HTTP, SNIFFED] = [`inbound|${PORTS.tcp}||`, `inbound|${PORTS.http}||`, `inbound|${PORTS.sniffed}||`];
const OPEN = "InboundPassthroughCluster";
const MESH_TCP = ["mesh mTLS carrying TCP", "mTLS of a peer that exchanges metadata"] as const;
const MESH_HTTP = ["mesh mTLS carrying HTTP", "mesh mTLS carrying HTTP/2"] as const;
const OWN = ["the application's own TLS", "the application's own HTTPS"] as const;

/** On a chain that ends TLS, a client without certificate fails in the handshake. */
const TABLE: readonly (readonly [readonly Call[], keyof typeof PORTS, string, string, string])[] = [
  // DISABLE, PERMISSIVE, STRICT
  [["plaintext TCP", "a server that speaks first"], "tcp", `tcp ${TCP}`, `tcp ${TCP}`, "no chain"],
  [["plaintext HTTP"], "tcp", `tcp ${TCP}`, `tcp ${TCP}`, "no chain"],
  [OWN, "tcp", `tcp ${TCP}`, `tcp ${TCP}`, `mtls tcp ${TCP}`],
  [[...MESH_TCP, ...MESH_HTTP], "tcp", `tcp ${TCP}`, `mtls tcp ${TCP}`, `mtls tcp ${TCP}`],
  [["plaintext TCP", "plaintext HTTP"], "http", `http ${HTTP}`, `http ${HTTP}`, "no chain"],
  [OWN, "http", `http ${HTTP}`, "no chain", `mtls http ${HTTP}`],
  [[...MESH_HTTP], "http", `http ${HTTP}`, `mtls http ${HTTP}`, `mtls http ${HTTP}`],
  [["plaintext TCP", "a server that speaks first"], "sniffed", `tcp ${SNIFFED}`, `tcp ${SNIFFED}`, "no chain"],
  [["plaintext HTTP"], "sniffed", `http ${SNIFFED}`, `http ${SNIFFED}`, "no chain"],
  [OWN, "sniffed", `tcp ${SNIFFED}`, `tcp ${SNIFFED}`, `mtls tcp ${SNIFFED}`],
  [[...MESH_HTTP], "sniffed", `tcp ${SNIFFED}`, `mtls http ${SNIFFED}`, `mtls http ${SNIFFED}`],
  [[...MESH_TCP], "sniffed", `tcp ${SNIFFED}`, `mtls tcp ${SNIFFED}`, `mtls tcp ${SNIFFED}`],
  [["plaintext TCP", "a server that speaks first"], "none", `tcp ${OPEN}`, `tcp ${OPEN}`, "no chain"],
  [["plaintext HTTP"], "none", `http ${OPEN}`, `http ${OPEN}`, "no chain"],
  [OWN, "none", `tcp ${OPEN}`, `tcp ${OPEN}`, `mtls tcp ${OPEN}`],
  [[...MESH_HTTP], "none", `tcp ${OPEN}`, `mtls http ${OPEN}`, `mtls http ${OPEN}`],
  [[...MESH_TCP], "none", `tcp ${OPEN}`, `mtls tcp ${OPEN}`, `mtls tcp ${OPEN}`],
];
const ROWS = TABLE.flatMap(([calls, port, disable, permissive, strict]) =>
  calls.flatMap((call) => [
    { mode: "DISABLE", call, port, becomes: disable } as const,
    { mode: "PERMISSIVE", call, port, becomes: permissive } as const,
    { mode: "STRICT", call, port, becomes: strict } as const,
  ]),
);

describe("virtualInbound", () => {
  test.each(ROWS)("$mode: $call to a $port port: $becomes", ({ mode, call, port, becomes }) => {
    expect(outcome(mode, call, PORTS[port])).toBe(becomes);
  });

  test("a connection to the listener itself ends nowhere", () => {
    const chain = chooseFilterChain(listenerUnder({ mode: "PERMISSIVE" }), { port: 15006, speaks: "http" });
    expect(describeChain(chain)).toBe("tcp BlackHoleCluster");
  });
});

describe("a mode for one port", () => {
  const rule = (portLevelMtls: object) =>
    peerAuthentication("web", "default", { selector: { matchLabels: { app: "web" } }, portLevelMtls });
  const call = (mesh: MtlsMode, portLevel: object, port: number, kind: Call) =>
    describeChain(chooseFilterChain(listenerUnder({ mode: mesh }, rule(portLevel)), { port, ...CALLS[kind] }));

  test.each([
    { mesh: "DISABLE", rules: { 5555: { mode: "STRICT" } }, port: 5555, kind: "plaintext TCP", becomes: "no chain" },
    {
      mesh: "DISABLE",
      rules: { 5555: { mode: "STRICT" } },
      port: 5555,
      kind: "mesh mTLS carrying TCP",
      becomes: `mtls tcp ${OPEN}`,
    },
    {
      mesh: "DISABLE",
      rules: { 5555: { mode: "STRICT" } },
      port: 5556,
      kind: "the application's own TLS",
      becomes: `tcp ${OPEN}`,
    },
    {
      mesh: "DISABLE",
      rules: { 5555: { mode: "STRICT" } },
      port: 9000,
      kind: "the application's own TLS",
      becomes: `tcp ${TCP}`,
    },
    { mesh: "DISABLE", rules: { 9000: { mode: "STRICT" } }, port: 9000, kind: "plaintext TCP", becomes: "no chain" },
    { mesh: "STRICT", rules: { 5555: { mode: "DISABLE" } }, port: 5555, kind: "plaintext TCP", becomes: `tcp ${OPEN}` },
    {
      mesh: "STRICT",
      rules: { 5555: { mode: "DISABLE" } },
      port: 5555,
      kind: "plaintext HTTP",
      becomes: `http ${OPEN}`,
    },
    { mesh: "STRICT", rules: { 5555: { mode: "DISABLE" } }, port: 5556, kind: "plaintext TCP", becomes: "no chain" },
    {
      mesh: "STRICT",
      rules: { 8080: { mode: "PERMISSIVE" } },
      port: 8080,
      kind: "plaintext HTTP",
      becomes: `http ${HTTP}`,
    },
  ] as const)("mesh $mesh, ports $rules: $kind to $port: $becomes", ({ mesh, rules, port, kind, becomes }) => {
    expect(call(mesh, rules, port, kind)).toBe(becomes);
  });
});
