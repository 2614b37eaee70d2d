import { beforeEach, describe, expect, test } from "vitest";
import { needs } from "../test/support/needs.ts";
import { BACKENDS, istioIptables, networkState } from "../test/support/netns/capture.ts";
import { createNetns } from "../test/support/netns/netns.ts";

const ALL = ["-u", "1337", "-i", "*", "-b", "*"];
const DROP = "\n-A OUTPUT -j DROP";

beforeEach(needs("root", "netns", "iptables", "nft"));

describe("no text gets into the rules", () => {
  test.each<{ args?: readonly string[]; env?: Record<string, string>; code?: number; says: string }>([
    { env: { ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR: `127.0.0.1/32/${DROP}` }, says: "failed to parse CIDR" },
    { env: { ISTIO_OUTBOUND_OWNER_GROUPS: `1000${DROP}` }, says: "ISTIO_OUTBOUND_OWNER_GROUPS" },
    { env: { ISTIO_OUTBOUND_OWNER_GROUPS: ",," }, says: "names no user or group" },
    { env: { PROXY_UID: `1337${DROP}` }, says: "--proxy-uid" },
    { args: ["-u", ","], says: "names no user or group" },
    { args: ["-p", `15001${DROP}`], says: "--envoy-port" },
    { args: ["-d", `80${DROP}`], says: "--istio-local-exclude-ports" },
    { args: ["-b", "*,80"], says: "or * alone" },
    { args: ["-q", "::1"], says: "--istio-outbound-ports" },
    { args: ["-x", `10.0.0.0/8${DROP}`], says: "--istio-service-exclude-cidr" },
    { args: ["-c", '"eth0"'], says: "invalid interface name" },
    { args: ["-k", "-j"], says: "invalid interface name" },
    { args: ["-m", "TPROXY", "-t", "01337"], says: "invalid mark" },
    { args: ["-m", "TPROXY", "-r", "-1"], says: "invalid route table" },
    { args: ["--force-iptables-binary", "legacy;reboot"], says: "invalid FORCE_IPTABLES_BINARY" },
    { args: ["--probe-timeout", "-"], code: 255, says: "invalid argument" },
    { args: ["--iptables-probe-port", "65536"], code: 255, says: "invalid argument" },
    { env: { PILOT_AGENT_GENERATION: "__proto__" }, says: "allowed are master" },
    { args: ["--network-namespace", `/no/such${DROP}`], says: "network namespace" },
  ])("$args $env", async ({ args = [], env = {}, code = 1, says }) => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const own = env.PROXY_UID === undefined ? ALL : ALL.slice(2);
    const result = await istioIptables(netns, [...own, ...args], env);
    expect(result.code).toBe(code);
    expect(`${result.stdout}${result.stderr}`).toContain(says);
    expect(`${result.stdout}${result.stderr}`).not.toMatch(/^\s+at /m);
    expect(await networkState(netns)).toBe(before);
  });
});

test.each(BACKENDS)("words of nft's language are names of interfaces with $backend", async ({ flags }) => {
  await using netns = await createNetns();
  const args = [...ALL, "-c", "bridge,return", "-k", "mark,0tap+", ...flags];
  expect(await istioIptables(netns, args)).toMatchObject({ code: 0 });
  const again = await istioIptables(netns, args);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing was changed") });
});

test("chains of ours that a stranger's chain jumps to are cleaned as well, the stranger's rules stay", async () => {
  await using netns = await createNetns();
  await netns.must("iptables-nft -t nat -N MINE");
  await netns.must("iptables-nft -t nat -A MINE -p tcp --dport 123 -j ACCEPT");
  const before = await networkState(netns);
  expect(await istioIptables(netns, ALL)).toMatchObject({ code: 0 });
  await netns.must("iptables-nft -t nat -I MINE 1 -p udp -j ISTIO_OUTPUT");
  expect(await istioIptables(netns, ["--cleanup-only"])).toMatchObject({ code: 0 });
  expect(await networkState(netns)).toBe(before);
});

test("a table of TPROXY that has a name on this machine gets one rule, and loses it again", async () => {
  const tables = "255 local\n254 main\n253 default\n133 capture\n";
  await using netns = await createNetns({ etc: { "iproute2/rt_tables": tables } });
  const before = await networkState(netns);
  for (let times = 0; times < 3; times += 1)
    expect(await istioIptables(netns, [...ALL, "-m", "TPROXY"])).toMatchObject({ code: 0 });
  expect((await netns.must("ip rule list")).match(/fwmark 0x539/g)).toHaveLength(1);
  expect(await istioIptables(netns, ["--cleanup-only"])).toMatchObject({ code: 0 });
  expect(await networkState(netns)).toBe(before);
});
