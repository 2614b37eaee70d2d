import { expect, test } from "vitest";
import { checkSettings } from "./check-settings.ts";
import { type CaptureOptions, type CaptureSettings, DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./settings.ts";

const check = (settings: Partial<CaptureSettings>, options: Partial<CaptureOptions> = {}) =>
  checkSettings({ ...DEFAULT_SETTINGS, ...settings }, { ...DEFAULT_OPTIONS, ...options });

const groups = (count: number) => Array.from({ length: count }, (_, index) => String(index)).join(",");

test("the defaults are right", () => {
  expect(check({})).toEqual({ errors: [], warnings: [] });
});

test.each<{ what: string; settings: Partial<CaptureSettings> }>([
  {
    what: "every kind of list",
    settings: { inboundPortsInclude: "80,8000:8100", outboundPortsInclude: "443,", virtualInterfaces: "eth0,tap+" },
  },
  { what: "wildcards alone", settings: { inboundPortsInclude: "*", outboundIpRangesInclude: "*" } },
  { what: "names of users and groups", settings: { proxyUid: "istio-proxy,0", ownerGroupsInclude: "java,202" } },
  { what: "64 included groups", settings: { ownerGroupsInclude: groups(64) } },
  { what: "1000 excluded groups", settings: { ownerGroupsExclude: groups(1000) } },
  { what: "the widest loopback network", settings: { loopbackCidr: "127.0.0.1/8" } },
  { what: "a mark in hex", settings: { tproxyMark: "0x539" } },
  { what: "host bits in a CIDR", settings: { outboundIpRangesInclude: "10.1.2.3/8,2001:DB8::/32" } },
  { what: "mode NONE", settings: { interceptionMode: "NONE" } },
])("$what is accepted", ({ settings }) => expect(check(settings).errors).toEqual([]));

test.each<{ settings: Partial<CaptureSettings>; says: string }>([
  { settings: { ownerGroupsInclude: groups(65) }, says: "cannot exceed 64, got 65: [0 1 2" },
  {
    settings: { loopbackCidr: "192.168.1.1/24" },
    says: "expected valid IPv4 loopback address in CIDR 192.168.1.1/24; found 192.168.1.1",
  },
  { settings: { loopbackCidr: "10.0.0.1/7" }, says: "found 10.0.0.1" },
  { settings: { loopbackCidr: "172.16.0.1/40" }, says: "failed to parse CIDR 172.16.0.1/40" },
  {
    settings: { loopbackCidr: "127.0.0.1/4" },
    says: "expected CIDR 127.0.0.1/4 to have mask in range [8, 32]; found 4",
  },
  { settings: { interceptionMode: "tproxy" }, says: '"tproxy": allowed are REDIRECT, TPROXY, NONE' },
  { settings: { proxyPort: "" }, says: 'invalid port "" in --envoy-port (ENVOY_PORT)' },
  { settings: { inboundCapturePort: "65536" }, says: "expected a number from 1 to 65535" },
  { settings: { inboundTunnelPort: "0" }, says: "--inbound-tunnel-port" },
  { settings: { inboundPortsInclude: "*,80" }, says: 'invalid port "*" in --istio-inbound-ports' },
  { settings: { inboundPortsExclude: "8 0" }, says: 'invalid port "8 0"' },
  { settings: { outboundPortsExclude: "90:80" }, says: 'invalid port "90:80"' },
  { settings: { proxyUid: "13 37" }, says: 'invalid id "13 37" in --proxy-uid' },
  { settings: { proxyGid: "4294967295" }, says: "from 0 to 4294967294" },
  { settings: { ownerGroupsExclude: "a;b" }, says: 'invalid id "a;b" in ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE' },
  { settings: { excludeInterfaces: "eth0 -j DROP" }, says: 'invalid interface name "eth0 -j DROP"' },
  { settings: { virtualInterfaces: "abcdefghijklmnop" }, says: "at most 15 letters" },
  { settings: { tproxyMark: "many" }, says: 'invalid mark "many"' },
  { settings: { tproxyMark: "4294967296" }, says: "from 1 to 4294967295" },
  { settings: { tproxyRouteTable: "254" }, says: "other than 253, 254 and 255" },
  { settings: { outboundIpRangesExclude: "*" }, says: "invalid value for OUTBOUND_IP_RANGES_EXCLUDE" },
  { settings: { outboundIpRangesInclude: "*,10.0.0.0/8" }, says: 'invalid CIDR "*" in --istio-service-cidr' },
  { settings: { outboundIpRangesExclude: "10.0.0.0\n-A X" }, says: "invalid CIDR" },
  {
    settings: { loopbackCidr: "127.0.0.1/8/\n-A OUTPUT -j DROP" },
    says: 'failed to parse CIDR "127.0.0.1/8/\\n-A OUTPUT -j DROP"',
  },
  { settings: { loopbackCidr: "127.0.0.1/32/8" }, says: "failed to parse CIDR 127.0.0.1/32/8" },
  { settings: { proxyPort: "015001" }, says: 'invalid port "015001"' },
  { settings: { inboundPortsInclude: "010" }, says: 'invalid port "010" in --istio-inbound-ports' },
  { settings: { outboundPortsExclude: "8000:08100" }, says: 'invalid port "8000:08100"' },
  { settings: { proxyUid: "01337" }, says: 'invalid id "01337" in --proxy-uid' },
  { settings: { tproxyMark: "01337" }, says: 'invalid mark "01337"' },
  { settings: { tproxyRouteTable: "0133" }, says: 'invalid route table "0133"' },
  { settings: { interceptionMode: "TPROXY", tproxyMark: "0x53a" }, says: "1338 is the mark of the proxy's calls" },
  { settings: { proxyUid: "," }, says: '"," in --proxy-uid (PROXY_UID) names no user or group' },
  { settings: { ownerGroupsInclude: " , " }, says: '" , " in ISTIO_OUTBOUND_OWNER_GROUPS names no user or group' },
])("wrong settings are named: $says", ({ settings, says }) => {
  expect(check(settings).errors.join("\n")).toContain(says);
});

test("a forced binary of another name is refused", () => {
  expect(check({}, { forceBinary: "random" }).errors).toEqual([
    expect.stringContaining('invalid FORCE_IPTABLES_BINARY value "random"'),
  ]);
  expect(check({}, { forceBinary: "legacy" }).errors).toEqual([]);
});

test("validation is refused where it would look at another network than the programmed one", () => {
  const there = { networkNamespace: "/run/netns/pod" };
  expect(check({}, { ...there, runValidation: true }).errors).toEqual([
    expect.stringContaining('--run-validation does not look into --network-namespace "/run/netns/pod"'),
  ]);
  expect(check({}, there).errors).toEqual([]);
  expect(check({}, { runValidation: true }).errors).toEqual([]);
});

test("older generations skip a bad CIDR with a warning", () => {
  const found = check({ generation: "1.20", outboundIpRangesInclude: "10.0.0.0,9.0.0.0/8" });
  expect(found.errors).toEqual([]);
  expect(found.warnings[0]).toContain('bug compatibility with istio-iptables: invalid CIDR "10.0.0.0"');
});

test("DNS capture without a resolver is warned about", () => {
  expect(check({ redirectDns: true }).warnings[0]).toContain("DNS capture disabled");
  expect(check({ redirectDns: true, dnsServersV4: ["10.0.0.2"] }).warnings).toEqual([]);
});
