import { expect, test } from "vitest";
import { buildRules } from "./build-rules.ts";
import { outboundProbe, probeFamilies } from "./probe-plan.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

const NAMES = { users: new Map([["envoy", "1500"]]), groups: new Map([["quiet", "1600"]]) };

function target(given: Partial<CaptureSettings>, uid = 1000, version = 0): string | undefined {
  const settings = { ...DEFAULT_SETTINGS, hostIp: "10.0.0.10", ...given };
  const family = probeFamilies(settings)[version];
  if (family === undefined) throw new Error("no such family");
  return outboundProbe(buildRules(settings), settings, { family, uid, gid: uid, port: 15002, names: NAMES });
}

test.each([
  { given: { hostIp: "10.0.0.10" }, families: ["IPv4"] },
  { given: { hostIp: "10.0.0.10", ipv6: true }, families: ["IPv4", "IPv6"] },
  { given: { hostIp: "2001:db8::1", ipv6: true }, families: ["IPv6"] },
])("host $given.hostIp with IPv6 $given.ipv6 is checked for $families", ({ given, families }) => {
  expect(probeFamilies({ ...DEFAULT_SETTINGS, ...given }).map(({ name }) => name)).toEqual(families);
});

test("the destination is one that the rules capture for this user", () => {
  expect(target({ outboundIpRangesInclude: "*" })).toBe("192.0.2.1");
  expect(target({ outboundIpRangesInclude: "10.96.0.0/12" })).toBe("10.96.0.1");
  expect(target({ outboundIpRangesInclude: "*", ipv6: true }, 1000, 1)).toBe("2001:db8::1");
  expect(target({ outboundPortsInclude: "15002" })).toBe("192.0.2.1");
});

test("there is none for the proxy itself, for excluded groups and without outbound capture", () => {
  expect(target({ outboundIpRangesInclude: "*" }, 1337)).toBeUndefined();
  expect(target({ outboundIpRangesInclude: "*", ownerGroupsExclude: "1000" })).toBeUndefined();
  expect(target({})).toBeUndefined();
  expect(target({ outboundIpRangesInclude: "*", proxyUid: "envoy" }, 1500)).toBeUndefined();
  expect(target({ outboundIpRangesInclude: "*", ownerGroupsExclude: "quiet" }, 1600)).toBeUndefined();
});
