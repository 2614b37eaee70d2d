import { expect, test } from "vitest";
import { nodeNetwork } from "./bootstrap-values.ts";

const V4 = { localhost: "127.0.0.1", wildcard: "0.0.0.0" };
const V6 = { localhost: "::1", wildcard: "::" };

test.each([
  { ips: [], dual: true, family: "V4_ONLY", main: V4, additional: undefined },
  { ips: ["10.0.0.1", "nonsense"], dual: true, family: "V4_ONLY", main: V4, additional: undefined },
  { ips: ["2001:db8::1"], dual: false, family: "V6_ONLY", main: V6, additional: undefined },
  { ips: ["::ffff:10.0.0.1"], dual: false, family: "V6_ONLY", main: V6, additional: undefined },
  { ips: ["2001:db8::1", "10.0.0.1"], dual: false, family: "V4_ONLY", main: V4, additional: undefined },
  { ips: ["2001:db8::1", "10.0.0.1"], dual: true, family: "ALL", main: V6, additional: V4 },
  { ips: ["10.0.0.1", "2001:db8::1"], dual: true, family: "ALL", main: V4, additional: V6 },
  { ips: ["fe80::1", "10.0.0.1"], dual: true, family: "ALL", main: V4, additional: V6 },
])("$ips with dual stack $dual is $family", ({ ips, dual, family, main, additional }) => {
  expect(nodeNetwork(ips, dual)).toEqual({ ...main, dnsLookupFamily: family, additional });
});

test("dual stack refuses a first address that is none", () => {
  expect(() => nodeNetwork(["x", "10.0.0.1", "::1"], true)).toThrow(
    expect.objectContaining({ code: "invalid-address" }),
  );
});
