import { describe, expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { formatIp, type parseIp } from "../../net/ip.ts";
import { buildRules } from "./build-rules.ts";
import { parsePacket } from "./packet.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";
import { createWalker } from "./walk.ts";

const OWN = ["10.0.0.10", "127.0.0.1", "127.0.0.6", "fd00::10", "::1", "::6"];
const isLocal = (address: NonNullable<ReturnType<typeof parseIp>>) => OWN.includes(formatIp(address));

function walk(given: Partial<CaptureSettings>, packet: string, backend: "iptables" | "nft" = "iptables") {
  const rules = buildRules({ ...DEFAULT_SETTINGS, ...given });
  return createWalker(rules, { names: NO_NAMES, backend })(parsePacket(packet, isLocal));
}

const ALL = { inboundPortsInclude: "*", inboundPortsExclude: "15090", outboundIpRangesInclude: "*" };

describe("REDIRECT", () => {
  test.each([
    { packet: "tcp 9.9.9.9:1 -> 10.0.0.10:80", fate: { kind: "redirected", port: 15006 } },
    { packet: "tcp 9.9.9.9:1 -> 10.0.0.10:15090", fate: { kind: "direct" } },
    { packet: "tcp 9.9.9.9:1 -> 10.0.0.10:15008", fate: { kind: "direct" } },
    { packet: "tcp 9.9.9.9:1 -> 10.0.0.10:80 state established", fate: { kind: "direct" } },
    { packet: "udp 9.9.9.9:1 -> 10.0.0.10:80", fate: { kind: "direct" } },
    { packet: "icmp 9.9.9.9 -> 10.0.0.10", fate: { kind: "direct" } },
    { packet: "tcp 10.0.0.10:1 -> 1.2.3.4:443 uid 1000", fate: { kind: "redirected", port: 15001 } },
    { packet: "tcp 10.0.0.10:1 -> 1.2.3.4:443 uid 1337", fate: { kind: "direct" } },
    { packet: "tcp 10.0.0.10:1 -> 1.2.3.4:443 uid 1 gid 1337", fate: { kind: "direct" } },
    { packet: "tcp 10.0.0.10:1 -> 10.0.0.10:80 uid 1000", fate: { kind: "direct" } },
    { packet: "tcp 10.0.0.10:1 -> 10.0.0.10:80 uid 1337", fate: { kind: "redirected", port: 15006 } },
    { packet: "tcp 127.0.0.6:1 -> 10.0.0.10:80 uid 1337", fate: { kind: "direct" } },
    { packet: "tcp 127.0.0.1:1 -> 127.0.0.1:80 uid 1337", fate: { kind: "direct" } },
    { packet: "icmp 10.0.0.10 -> 1.2.3.4 uid 1000", fate: { kind: "direct" } },
    { packet: "udp 10.0.0.10:1 -> 1.2.3.4:443 uid 1000", fate: { kind: "direct" } },
  ])("$packet: $fate.kind", ({ packet, fate }) => expect(walk(ALL, packet).fate).toEqual(fate));
});

test("the deciding rule is named by table, chain and place", () => {
  const { decidedBy, steps } = walk(ALL, "tcp 10.0.0.10:1 -> 1.2.3.4:443 uid 1337");
  expect(decidedBy).toMatchObject({ table: "nat", chain: "ISTIO_OUTPUT", number: 4 });
  expect(steps.map((step) => step.chain)).toEqual(["OUTPUT", "ISTIO_OUTPUT"]);
});

test("TPROXY keeps addresses, lets established connections pass by mark, and leaves loopback alone", () => {
  const tproxy = { ...ALL, interceptionMode: "TPROXY" };
  expect(walk(tproxy, "tcp 9.9.9.9:1 -> 10.0.0.10:80")).toMatchObject({
    fate: { kind: "tproxied", port: 15006 },
    mark: 1337,
  });
  expect(walk(tproxy, "tcp 9.9.9.9:1 -> 10.0.0.10:80 state established")).toMatchObject({
    fate: { kind: "direct" },
    mark: 1337,
  });
  expect(walk(tproxy, "tcp 10.0.0.10:1 -> 10.0.0.10:80 uid 1000").fate).toEqual({ kind: "direct" });
  expect(walk(tproxy, "tcp 10.0.0.10:1 -> 10.0.0.10:80 uid 1337").fate).toEqual({ kind: "redirected", port: 15006 });
});

test("DNS goes to the agent in the application's zone, the agent's own query does not", () => {
  const dns = { ...ALL, redirectDns: true, dnsServersV4: ["10.96.0.10"] };
  expect(walk(dns, "udp 10.0.0.10:1 -> 10.96.0.10:53 uid 1000")).toMatchObject({
    fate: { kind: "redirected", port: 15053 },
    zone: 2,
  });
  expect(walk(dns, "udp 10.0.0.10:1 -> 10.96.0.10:53 uid 1337").fate).toEqual({ kind: "direct" });
  expect(walk(dns, "udp 10.0.0.10:1 -> 8.8.8.8:53 uid 1000").fate).toEqual({ kind: "direct" });
});

test("invalid packets are dropped, of other protocols only by iptables", () => {
  const given = { dropInvalid: true };
  expect(walk(given, "tcp 9.9.9.9:1 -> 10.0.0.10:80 state invalid").fate).toEqual({ kind: "dropped" });
  expect(walk(given, "udp 9.9.9.9:1 -> 10.0.0.10:80 state invalid").fate).toEqual({ kind: "dropped" });
  expect(walk(given, "udp 9.9.9.9:1 -> 10.0.0.10:80 state invalid", "nft").fate).toEqual({ kind: "direct" });
});

test("interfaces, ranges and wildcards are matched", () => {
  const given = { inboundPortsInclude: "8000:8100,9", excludeInterfaces: "tap+" };
  expect(walk(given, "tcp 9.9.9.9:1 -> 10.0.0.10:8050").fate).toEqual({ kind: "redirected", port: 15006 });
  expect(walk(given, "tcp 9.9.9.9:1 -> 10.0.0.10:8101").fate).toEqual({ kind: "direct" });
  expect(walk(given, "tcp 9.9.9.9:1 -> 10.0.0.10:8050 in tap7").fate).toEqual({ kind: "direct" });
});

test("IPv6 has its own rules", () => {
  const given = { ...ALL, ipv6: true, outboundIpRangesExclude: "2001:db8:1::/48" };
  expect(walk(given, "tcp [fd00::10]:1 -> [2001:db8::1]:80 uid 1000").fate).toEqual({
    kind: "redirected",
    port: 15001,
  });
  expect(walk(given, "tcp [fd00::10]:1 -> [2001:db8:1::1]:80 uid 1000").fate).toEqual({ kind: "direct" });
  expect(walk(given, "tcp [::6]:1 -> [fd00::10]:80 uid 1337").fate).toEqual({ kind: "direct" });
});

test("DNS of 1.7 is translated to the local port", () => {
  const given = { generation: "1.7", dnsTargetPort: "15053" } as const;
  expect(walk(given, "udp 10.0.0.10:1 -> 8.8.8.8:53 uid 1000").fate).toEqual({
    kind: "translated",
    to: "127.0.0.1:15053",
  });
});
