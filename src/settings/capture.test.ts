import { expect, test } from "vitest";
import { CAPTURE_FLAGS, captureWarnings } from "../cli/commands/capture-flags.ts";
import { createFlagValues } from "../cli/framework/flag-values.ts";
import { parseFlags } from "../cli/framework/parse-flags.ts";
import { captureGeneration, readCaptureSettings } from "./capture.ts";

function read(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const flags = createFlagValues(CAPTURE_FLAGS, parseFlags(CAPTURE_FLAGS, words, false).set, env);
  return { ...readCaptureSettings(flags, env), warnings: captureWarnings(flags, env) };
}

test("every string setting has its flag, its short form and its variable", () => {
  const words = [
    "-p",
    "1",
    "-z",
    "2",
    "-e",
    "3",
    "-u",
    "4",
    "-g",
    "5",
    "-m",
    "TPROXY",
    "-b",
    "6",
    "-d",
    "7",
    "-c",
    "8",
  ];
  const more = ["-i", "9", "-x", "10", "-q", "11", "-o", "12", "-k", "13", "-t", "14", "-r", "15"];
  expect(read([...words, ...more]).settings).toMatchObject({
    proxyPort: "1",
    inboundCapturePort: "2",
    inboundTunnelPort: "3",
    proxyUid: "4",
    proxyGid: "5",
    interceptionMode: "TPROXY",
    inboundPortsInclude: "6",
    inboundPortsExclude: "7",
    excludeInterfaces: "8",
    outboundIpRangesInclude: "9",
    outboundIpRangesExclude: "10",
    outboundPortsInclude: "11",
    outboundPortsExclude: "12",
    virtualInterfaces: "13",
    tproxyMark: "14",
    tproxyRouteTable: "15",
  });
  expect(read([], { ISTIO_SERVICE_CIDR: "*", PROXY_UID: "9", KUBE_VIRT_INTERFACES: "v" }).settings).toMatchObject({
    outboundIpRangesInclude: "*",
    proxyUid: "9",
    virtualInterfaces: "v",
  });
});

test("options have flags and variables, the command line wins", () => {
  const env = {
    RECONCILE: "true",
    PROBE_TIMEOUT: "2s",
    IPTABLES_PROBE_PORT: "99",
    CNI_MODE: "1",
    DRY_RUN_FILE_PATH: "/f",
  };
  expect(read(["--reconcile=false", "--force-iptables-binary", "nft"], env).options).toMatchObject({
    reconcile: false,
    probeTimeoutNs: 2_000_000_000n,
    probePort: 99,
    cniMode: true,
    dryRunFile: "/f",
    forceBinary: "nft",
  });
});

test.each([
  { env: { REDIRECT_DNS: "true" }, redirectDns: true },
  { env: { REDIRECT_DNS: "true", ISTIO_META_DNS_CAPTURE: "false" }, redirectDns: false },
  { env: { ISTIO_META_DNS_CAPTURE: "true" }, redirectDns: true },
  { env: { REDIRECT_DNS: "true", ISTIO_META_DNS_CAPTURE: "x" }, redirectDns: true },
])("$env gives DNS capture $redirectDns", ({ env, redirectDns }) => {
  expect(read([], env).settings.redirectDns).toBe(redirectDns);
});

test.each([
  { env: { DNS_AGENT: "" }, port: "" },
  { env: { DNS_AGENT: "DNS-TLS" }, port: "15053" },
  { env: { ISTIO_META_DNS_CAPTURE: "ALL" }, port: "15013" },
  { env: { DNS_AGENT: "x", ISTIO_META_DNS_CAPTURE: "ALL" }, port: "15053" },
])("in 1.7 $env sends DNS to port '$port'", ({ env, port }) => {
  const { settings } = read([], { ...env, PILOT_AGENT_GENERATION: "1.7" });
  expect(settings).toMatchObject({ generation: "1.7", dnsTargetPort: port, redirectDns: false });
});

test("variables that cannot be read are named once and the default stays", () => {
  const { settings, options, warnings } = read([], {
    DUAL_STACK: "maybe",
    PROBE_TIMEOUT: "soon",
    IPTABLES_PROBE_PORT: "70000",
  });
  expect(settings.dualStack).toBe(false);
  expect(options).toMatchObject({ probeTimeoutNs: 5_000_000_000n, probePort: 15002 });
  expect(warnings).toEqual([
    expect.stringContaining("IPTABLES_PROBE_PORT"),
    expect.stringContaining("PROBE_TIMEOUT"),
    expect.stringContaining("DUAL_STACK"),
  ]);
  expect(read(["--dual-stack"], { DUAL_STACK: "maybe" }).warnings).toEqual([]);
});

test("a required value that a variable blanks keeps its default, one that a flag blanks is blank", () => {
  expect(read([], { INBOUND_TUNNEL_PORT: "", ISTIO_INBOUND_TPROXY_MARK: "" }).settings).toMatchObject({
    inboundTunnelPort: "15008",
    tproxyMark: "1337",
  });
  expect(read(["-p", ""]).settings.proxyPort).toBe("");
});

test.each([
  { text: undefined, generation: "master" },
  { text: "", generation: "master" },
  { text: "1.20", generation: "1.20" },
  { text: "1.8", generation: "1.20" },
  { text: "1.2", generation: "1.6" },
])("generation $text has the rules of $generation", ({ text, generation }) => {
  expect(captureGeneration(text)).toBe(generation);
});

test.each(["constructor", "__proto__", "toString", "1.21"])("%s is not a generation", (text) => {
  expect(() => captureGeneration(text)).toThrow(`PILOT_AGENT_GENERATION is "${text}", allowed are master, 1.20`);
});
