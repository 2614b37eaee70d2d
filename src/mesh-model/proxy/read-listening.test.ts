import { describe, expect, test } from "vitest";
import { decodeStruct, encodeStruct } from "../../protobuf/wire/struct.ts";
import { readListening } from "./read-listening.ts";

test("a node that tells nothing gets the usual listeners", () => {
  expect(readListening({})).toEqual({
    http10: false,
    idleTimeout: "",
    staticPorts: [15021, 15090],
    outboundBalance: false,
    inboundBalance: false,
  });
});

test("members that are structures, as they come from the wire, count as absent", () => {
  const metadata = encodeStruct({
    HTTP10: {},
    IDLE_TIMEOUT: [],
    ENVOY_STATUS_PORT: {},
    INBOUND_LISTENER_EXACT_BALANCE: {},
  });
  expect(readListening(decodeStruct(metadata))).toEqual(readListening({}));
});

test.each([
  { value: "1", isOn: true },
  { value: 1, isOn: true },
  { value: "true", isOn: false },
  { value: "0", isOn: false },
  { value: "", isOn: false },
])("HTTP10 $value: $isOn", ({ value, isOn }) => {
  expect(readListening({ HTTP10: value }).http10).toBe(isOn);
});

test.each([
  { text: "10s", is: "10s" },
  { text: "1m30s", is: "90s" },
  { text: "1500ms", is: "1.500s" },
  { text: "", is: "" },
  { text: "soon", is: "" },
  { text: "10", is: "" },
])("IDLE_TIMEOUT $text is $is", ({ text, is }) => {
  expect(readListening({ IDLE_TIMEOUT: text }).idleTimeout).toBe(is);
});

test.each([
  { value: "true", isOn: true },
  { value: true, isOn: true },
  { value: "TRUE", isOn: true },
  { value: "t", isOn: true },
  { value: "1", isOn: true },
  { value: "yes", isOn: false },
  { value: "false", isOn: false },
  { value: "truest", isOn: false },
])("exact balance $value: $isOn, each direction by itself", ({ value, isOn }) => {
  const outbound = readListening({ OUTBOUND_LISTENER_EXACT_BALANCE: value });
  expect([outbound.outboundBalance, outbound.inboundBalance]).toEqual([isOn, false]);
  const inbound = readListening({ INBOUND_LISTENER_EXACT_BALANCE: value });
  expect([inbound.outboundBalance, inbound.inboundBalance]).toEqual([false, isOn]);
});

describe("ports that the bootstrap has", () => {
  test.each([
    {
      name: "are those of the metadata",
      metadata: { ENVOY_STATUS_PORT: 1, ENVOY_PROMETHEUS_PORT: "2" },
      ports: [1, 2],
    },
    {
      name: "may be more",
      metadata: { ENVOY_SECURE_METRICS_PORT: 3, ENVOY_SECURE_MERGED_METRICS_PORT: 4, ENVOY_STATUS_PORT: 1 },
      ports: [1, 3, 4],
    },
    {
      name: "are not those that are switched off",
      metadata: { ENVOY_STATUS_PORT: 0, ENVOY_PROMETHEUS_PORT: 2 },
      ports: [2],
    },
    {
      name: "are the usual ones where the metadata has no number",
      metadata: { ENVOY_STATUS_PORT: "x" },
      ports: [15021, 15090],
    },
  ])("$name", ({ metadata, ports }) => {
    expect(readListening(metadata).staticPorts).toEqual(ports);
  });
});

describe("the proxy's own configuration", () => {
  test.each([
    { name: "without headers says so", config: {}, headers: {} },
    {
      name: "with headers",
      config: { proxyHeaders: { server: { disabled: true } } },
      headers: { server: { disabled: true } },
    },
    { name: "with headers that are none", config: { proxyHeaders: "all" }, headers: {} },
    { name: "that is a list is none", config: [], headers: undefined },
    { name: "that is text is none", config: "{}", headers: undefined },
    { name: "that is null is none", config: null, headers: undefined },
  ])("$name", ({ config, headers }) => {
    expect(readListening({ PROXY_CONFIG: config }).headers).toEqual(headers);
  });

  test("may tell what stands in front of a router", () => {
    const gatewayTopology = { numTrustedProxies: 2 };
    expect(readListening({ PROXY_CONFIG: { gatewayTopology } }).topology).toEqual(gatewayTopology);
    expect(readListening({ PROXY_CONFIG: { gatewayTopology: 2 } })).not.toHaveProperty("topology");
  });
});
