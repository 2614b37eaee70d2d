import { describe, expect, test } from "vitest";
import { explainInWords } from "./explain-words.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

const wordsOf = (given: Partial<CaptureSettings>) => explainInWords({ ...DEFAULT_SETTINGS, ...given });
const lineOf = (about: string, given: Partial<CaptureSettings>) =>
  wordsOf(given).find((line) => line.startsWith(about)) ?? "nothing is said";

test("without interception there is one sentence", () => {
  expect(wordsOf({ interceptionMode: "NONE" })).toEqual([
    "Interception mode NONE: nothing is captured, no rules are written.",
  ]);
});

test.each([
  { given: {}, says: "Backend: iptables, IPv4 only, rules of generation master." },
  { given: { ipv6: true }, says: "Backend: iptables, IPv4 and IPv6, rules of generation master." },
  { given: { nativeNftables: true }, says: "Backend: nftables, IPv4 only, rules of generation master." },
  { given: { generation: "1.7" as const }, says: "Backend: iptables, IPv4 only, rules of generation 1.7." },
])("$says", ({ given, says }) => {
  expect(lineOf("Backend", { ...given, ...("ipv6" in given ? {} : { ipv6: false }) })).toBe(says);
});

describe("inbound", () => {
  test.each<{ given: Partial<CaptureSettings>; says: string }>([
    { given: { inboundPortsInclude: "" }, says: "Inbound: nothing is captured (no inbound ports are set)." },
    {
      given: { inboundPortsInclude: "80,443" },
      says: "Inbound: TCP to ports 80, 443 goes to Envoy on port 15006 by REDIRECT.",
    },
    {
      given: { inboundPortsInclude: "*", inboundPortsExclude: "15090,15021" },
      says: "Inbound: all TCP except to ports 15008, 15090, 15021 goes to Envoy on port 15006 by REDIRECT.",
    },
    {
      given: { inboundPortsInclude: "*", inboundPortsExclude: "", interceptionMode: "TPROXY" },
      says: "Inbound: all TCP goes to Envoy on port 15006 by TPROXY, which keeps the client's address.",
    },
    {
      given: { inboundPortsInclude: "*", inboundPortsExclude: "22", interceptionMode: "TPROXY" },
      says: "Inbound: all TCP except to ports 22 goes to Envoy on port 15006 by TPROXY, which keeps the client's address.",
    },
    {
      given: { inboundPortsInclude: "80", inboundCapturePort: "16006" },
      says: "Inbound: TCP to ports 80 goes to Envoy on port 16006 by REDIRECT.",
    },
  ])("$says", ({ given, says }) => {
    expect(lineOf("Inbound", given)).toBe(says);
  });

  test("a long list of ports is shown in part", () => {
    const inboundPortsInclude = Array.from({ length: 13 }, (_, index) => 8000 + index).join();
    expect(lineOf("Inbound", { inboundPortsInclude })).toContain("8008, 8009 and 3 more goes");
  });
});

describe("outbound", () => {
  const nothing = {
    outboundIpRangesInclude: "",
    outboundIpRangesExclude: "",
    outboundPortsInclude: "",
    outboundPortsExclude: "",
  };
  test.each<{ given: Partial<CaptureSettings>; says: string }>([
    { given: {}, says: "Outbound: nothing is captured (no destinations and no ports are set)." },
    { given: { outboundIpRangesInclude: "*" }, says: "Outbound: TCP to all destinations goes to Envoy on port 15001." },
    {
      given: { outboundIpRangesInclude: "10.0.0.0/8,172.16.0.0/12" },
      says: "Outbound: TCP to 10.0.0.0/8, 172.16.0.0/12 goes to Envoy on port 15001.",
    },
    { given: { outboundPortsInclude: "80,443" }, says: "Outbound: TCP to ports 80, 443 goes to Envoy on port 15001." },
    {
      given: { outboundIpRangesInclude: "*", outboundIpRangesExclude: "1.1.0.0/16", outboundPortsExclude: "22" },
      says: "Outbound: TCP to all destinations goes to Envoy on port 15001, but never to 1.1.0.0/16, ports 22.",
    },
    {
      given: { outboundIpRangesInclude: "10.0.0.0/8", outboundPortsInclude: "443", proxyPort: "16001" },
      says: "Outbound: TCP to 10.0.0.0/8, ports 443 goes to Envoy on port 16001.",
    },
  ])("$says", ({ given, says }) => {
    expect(lineOf("Outbound", { ...nothing, ...given })).toBe(says);
  });
});

describe("owners", () => {
  test.each<{ given: Partial<CaptureSettings>; says: string }>([
    { given: {}, says: "uid 1337 and gid 1337 is not captured." },
    { given: { proxyUid: "1,2", proxyGid: "3" }, says: "uid 1, 2 and gid 3 is not captured." },
    { given: { ownerGroupsExclude: "backup" }, says: "is not captured, nor that of groups backup." },
    { given: { ownerGroupsInclude: "web,db" }, says: "is not captured, nor that of any group but web, db." },
  ])("$says", ({ given, says }) => {
    const line = lineOf("Owners", { proxyUid: "1337", proxyGid: "1337", ...given });
    expect(line).toContain(says);
    expect(line).toContain(`${DEFAULT_SETTINGS.loopbackCidr} is always direct`);
  });
});

describe("DNS", () => {
  test.each<{ given: Partial<CaptureSettings>; says: string }>([
    { given: { redirectDns: false }, says: "DNS: not captured." },
    {
      given: { redirectDns: true, captureAllDns: true },
      says: "DNS: UDP and TCP to port 53 of any server goes to the agent on port 15053.",
    },
    {
      given: { redirectDns: true, dnsServersV4: ["10.96.0.10"], dnsServersV6: ["fd00::10"] },
      says: "DNS: UDP and TCP to port 53 of 10.96.0.10, fd00::10 goes to the agent on port 15053.",
    },
    {
      given: { redirectDns: true, dnsServersV4: [], dnsServersV6: [] },
      says: "DNS: not captured, because no resolver is known.",
    },
    { given: { generation: "1.7", redirectDns: true, dnsTargetPort: "" }, says: "DNS: not captured." },
    {
      given: { generation: "1.6", dnsTargetPort: "15053" },
      says: "DNS: all UDP to port 53 goes to 127.0.0.1:15053.",
    },
  ])("$says", ({ given, says }) => {
    expect(lineOf("DNS", given)).toBe(says);
  });
});

test.each<{ given: Partial<CaptureSettings>; says: string; about: string }>([
  {
    about: "Interfaces eth1",
    given: { excludeInterfaces: "eth1,eth2" },
    says: "Interfaces eth1, eth2: bypassed in both directions.",
  },
  {
    about: "Interfaces tap0",
    given: { virtualInterfaces: "tap0" },
    says: "Interfaces tap0: what comes in is treated as outbound traffic of the guest.",
  },
  { about: "Interfaces", given: {}, says: "nothing is said" },
  {
    about: "Packets",
    given: { dropInvalid: true },
    says: "Packets that connection tracking calls invalid are dropped.",
  },
  { about: "Packets", given: { dropInvalid: false }, says: "nothing is said" },
])("$says", ({ about, given, says }) => {
  expect(lineOf(about, given)).toBe(says);
});
