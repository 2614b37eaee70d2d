import { expect, test } from "vitest";
import { formatProtoDuration, wholeSeconds } from "../../protobuf/proto-duration.ts";
import { pilotSubjectAltNames } from "./pilot-san.ts";
import { hostOf, parseSocketAddress } from "./socket-address.ts";

test.each([
  ["host:80", undefined, { address: "host", port_value: 80 }],
  ["[2001:db8::1]:80", undefined, { address: "2001:db8::1", port_value: 80 }],
  ["$(HOST_IP):8126", "10.0.0.9", { address: "10.0.0.9", port_value: 8126 }],
  ["$(HOST_IP):8126", undefined, { address: "$(HOST_IP)", port_value: 8126 }],
  ["x$(HOST_IP):1", "10.0.0.9", { address: "x$(HOST_IP)", port_value: 1 }],
  [":80", undefined, { address: "", port_value: 80 }],
])("%s with host %s", (value, hostIp, address) => {
  expect(parseSocketAddress("zipkin", value, hostIp)).toEqual(address);
});

test.each([
  ["bad", 'unable to parse pilot_grpc_address address "bad": address bad: missing port in address'],
  ["::1:80", 'unable to parse pilot_grpc_address address "::1:80": address ::1:80: too many colons in address'],
  ["[::1", "missing ']' in address"],
  ["[::1]", "missing port in address"],
  ["[::1]x:80", "missing port in address"],
  ["a[b:80", "unexpected '[' in address"],
  ["fake:", 'port "" is not a number from 0 to 65535'],
  ["host:http", 'port "http" is not a number from 0 to 65535'],
  ["host:65536", 'port "65536" is not a number'],
])("%s is refused: %s", (value, message) => {
  expect(() => parseSocketAddress("pilot_grpc_address", value, undefined)).toThrow(message);
});

test.each([
  ["istiod.istio-system.svc:15012", "istiod.istio-system.svc"],
  ["[::1]:15012", "::1"],
  ["[::1]", "::1"],
  ["::1", "::1"],
  ["bad", "bad"],
  ["", ""],
])("the host of %s is %s", (address, host) => {
  expect(hostOf(address)).toBe(host);
});

test.each([
  [{ controlPlaneAuthPolicy: "MUTUAL_TLS", discoveryAddress: "istiod.ns.svc:15012" }, ["istiod.ns.svc"]],
  [{ controlPlaneAuthPolicy: "MUTUAL_TLS", discoveryAddress: "localhost:15012" }, ["istiod.istio-system.svc"]],
  [{ controlPlaneAuthPolicy: "MUTUAL_TLS", discoveryAddress: "[2001:db8::1]:15012" }, ["2001:db8::1"]],
  [{ controlPlaneAuthPolicy: "NONE", discoveryAddress: "istiod:15010" }, []],
  [{ discoveryAddress: "istiod:15010" }, []],
] as const)("the control plane's names of %j are %j", (config, names) => {
  expect(pilotSubjectAltNames(config)).toEqual(names);
});

test.each([
  [0n, "0s"],
  [90_000_000_000n, "90s"],
  [500_000_000n, "0.500s"],
  [1_500_000n, "0.001500s"],
  [1n, "0.000000001s"],
  [-1_500_000_000n, "-1.500s"],
])("%s ns is %s", (nanoseconds, text) => {
  expect(formatProtoDuration(nanoseconds)).toBe(text);
});

test("whole seconds of a duration", () => {
  expect([wholeSeconds("90s"), wholeSeconds("1.900s"), wholeSeconds(undefined)]).toEqual([90, 1, 0]);
});
