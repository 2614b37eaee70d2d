import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { buildRules } from "../src/capture/core/build-rules.ts";
import { checkSettings } from "../src/capture/core/check-settings.ts";
import { deriveSettings } from "../src/capture/core/derive-settings.ts";
import { parsePacket } from "../src/capture/core/packet.ts";
import { createWalker, type Fate } from "../src/capture/core/walk.ts";
import { CAPTURE_FLAGS } from "../src/cli/commands/capture-flags.ts";
import { createFlagValues } from "../src/cli/framework/flag-values.ts";
import { parseFlags } from "../src/cli/framework/parse-flags.ts";
import { parseIp } from "../src/net/ip.ts";
import { readCaptureSettings } from "../src/settings/capture.ts";
import { NO_NAMES } from "../test/support/capture/owner-names.ts";
import { needs } from "../test/support/needs.ts";
import { BACKENDS, istioIptables } from "../test/support/netns/capture.ts";
import { createNetnsPair, type NetnsPair } from "../test/support/netns/netns.ts";
import { type ConnectCall, type NetnsPeer, type Seen, startNetnsPeer } from "../test/support/netns/peer.ts";

const POD_V4 = "10.0.0.10";
const POD_V6 = "fd00::10";
const RESOLVER = "10.96.0.10";
const RESOLV_CONF = `nameserver ${RESOLVER}\n`;
const PROXY = 1337;

interface Expectation extends ConnectCall {
  readonly name: string;
  /** Which end connects. */
  readonly by: "pod" | "remote";
  /** Port of the listener that must answer. */
  readonly reaches: number;
}

const pod = (name: string, to: ConnectCall["to"], reaches: number, rest: Partial<ConnectCall> = {}): Expectation => ({
  name,
  by: "pod",
  to,
  reaches,
  ...rest,
});
const remote = (name: string, to: ConnectCall["to"], reaches: number): Expectation => ({
  name,
  by: "remote",
  to,
  reaches,
});

const REDIRECT_ARGS = [
  "-u",
  "1337",
  "-i",
  "*",
  "-b",
  "*",
  "-d",
  "15090",
  "-x",
  "1.1.0.0/16",
  "-o",
  "9999",
  "--redirect-dns",
  "--dual-stack",
];

const REDIRECT_CASES: readonly Expectation[] = [
  remote("inbound", [POD_V4, 8080], 15006),
  remote("inbound to an excluded port", [POD_V4, 15090], 15090),
  remote("inbound to the tunnel port", [POD_V4, 15008], 15008),
  remote("inbound over IPv6", [POD_V6, 8080], 15006),
  pod("outbound", ["1.2.3.4", 80], 15001),
  pod("outbound over IPv6", ["2001:db8::4", 80], 15001),
  pod("outbound to an excluded network", ["1.1.2.3", 80], 80),
  pod("outbound to an excluded port", ["1.2.3.4", 9999], 9999),
  pod("outbound of the proxy's user", ["1.2.3.4", 80], 80, { uid: PROXY }),
  pod("outbound of the proxy's group", ["1.2.3.4", 80], 80, { uid: 2000, gid: PROXY }),
  pod("outbound of the proxy's user over IPv6", ["2001:db8::4", 80], 80, { uid: PROXY }),
  pod("the application to its own address", [POD_V4, 8080], 8080),
  pod("the application to localhost", ["127.0.0.1", 8080], 8080),
  pod("the proxy to its own pod", [POD_V4, 8080], 15006, { uid: PROXY }),
  pod("the proxy to its own pod over IPv6", [POD_V6, 8080], 15006, { uid: PROXY }),
  pod("the proxy to the tunnel port of its own pod", [POD_V4, 15008], 15008, { uid: PROXY }),
  pod("the proxy to localhost", ["127.0.0.1", 8080], 8080, { uid: PROXY }),
  pod("the proxy to the application from the passthrough address", [POD_V4, 8080], 8080, {
    uid: PROXY,
    from: "127.0.0.6",
  }),
  pod("DNS over UDP", [RESOLVER, 53], 15053, { protocol: "udp" }),
  pod("DNS over TCP", [RESOLVER, 53], 15053),
  pod("DNS to another server over UDP", ["9.9.9.9", 53], 53, { protocol: "udp" }),
  pod("DNS to another server over TCP", ["9.9.9.9", 53], 15001),
  pod("DNS of the agent", [RESOLVER, 53], 53, { protocol: "udp", uid: PROXY }),
  pod("other UDP", ["1.2.3.4", 443], 443, { protocol: "udp" }),
];

const LISTED_ARGS = ["-u", "1337", "-i", "9.9.0.0/16", "-b", "8080,9090", "-q", "443"];

const LISTED_CASES: readonly Expectation[] = [
  remote("inbound to a listed port", [POD_V4, 8080], 15006),
  remote("inbound to another port", [POD_V4, 15090], 15090),
  pod("outbound to a listed network", ["9.9.1.1", 80], 15001),
  pod("outbound to a listed port", ["1.2.3.4", 443], 15001),
  pod("outbound to anything else", ["1.2.3.4", 80], 80),
  pod("DNS without capture", [RESOLVER, 53], 53, { protocol: "udp" }),
];

const TPROXY_ARGS = ["-u", "1337", "-i", "*", "-b", "*", "-d", "15090", "-m", "TPROXY", "--dual-stack"];

const TPROXY_CASES: readonly Expectation[] = [
  remote("inbound", [POD_V4, 8080], 15006),
  remote("inbound over IPv6", [POD_V6, 8080], 15006),
  remote("inbound to an excluded port", [POD_V4, 15090], 15090),
  pod("outbound", ["1.2.3.4", 80], 15001),
  pod("outbound of the proxy", ["1.2.3.4", 80], 80, { uid: PROXY }),
  pod("the application to its own address", [POD_V4, 8080], 8080),
];

const GROUP_CASES: readonly Expectation[] = [
  pod("outbound of a captured group", ["1.2.3.4", 80], 15001, { gid: 2000 }),
  pod("outbound of any other group", ["1.2.3.4", 80], 80, { gid: 3000 }),
];

const INTERFACE_CASES: readonly Expectation[] = [
  remote("inbound by an excluded interface", [POD_V4, 8080], 8080),
  pod("outbound by an excluded interface", ["1.2.3.4", 80], 80),
  pod("the proxy to its own pod", [POD_V4, 8080], 15006, { uid: PROXY }),
];

const VIRTUAL_CASES: readonly Expectation[] = [
  remote("what comes from a virtual interface is treated as outbound", [POD_V4, 8080], 15001),
  pod("outbound of the pod itself", ["1.2.3.4", 80], 15001),
];

const FIRST_CASES: readonly Expectation[] = [
  remote("inbound", [POD_V4, 8080], 15006),
  pod("outbound", ["1.2.3.4", 80], 15001),
  pod("outbound of the proxy", ["1.2.3.4", 80], 80, { uid: PROXY }),
  pod("the proxy to its own pod", [POD_V4, 8080], 15006, { uid: PROXY }),
  pod("UDP", ["1.2.3.4", 443], 443, { protocol: "udp" }),
];

const ALL = ["-u", "1337", "-i", "*", "-b", "*"];
const GROUPS = { ISTIO_OUTBOUND_OWNER_GROUPS: "2000,2001" };
const V1_20 = { PILOT_AGENT_GENERATION: "1.20" };
const V1_7 = { PILOT_AGENT_GENERATION: "1.7" };

const SCENARIOS: readonly {
  readonly scenario: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cases: readonly Expectation[];
}[] = [
  { scenario: "REDIRECT with DNS and both IP versions", args: REDIRECT_ARGS, env: {}, cases: REDIRECT_CASES },
  { scenario: "listed ports and networks", args: LISTED_ARGS, env: {}, cases: LISTED_CASES },
  { scenario: "TPROXY", args: TPROXY_ARGS, env: {}, cases: TPROXY_CASES },
  { scenario: "owner groups", args: ALL, env: GROUPS, cases: GROUP_CASES },
  { scenario: "an excluded interface", args: [...ALL, "-c", "eth0"], env: {}, cases: INTERFACE_CASES },
  { scenario: "a virtual interface", args: [...ALL, "-k", "eth0"], env: {}, cases: VIRTUAL_CASES },
  { scenario: "the rules of 1.20", args: REDIRECT_ARGS, env: V1_20, cases: REDIRECT_CASES },
  { scenario: "the rules of 1.7", args: ALL, env: V1_7, cases: FIRST_CASES },
];

interface World {
  readonly pair: NetnsPair;
  readonly pod: NetnsPeer;
  readonly remote: NetnsPeer;
}

/** Made by the first test that may run, so that a machine without namespaces skips before it fails. */
let world: Promise<World> | undefined;

async function createWorld(): Promise<World> {
  const pair = await createNetnsPair({ "resolv.conf": RESOLV_CONF });
  const [pod, remote] = await Promise.all([startNetnsPeer(pair.pod), startNetnsPeer(pair.remote)]);
  for (const address of ["0.0.0.0", "::"]) {
    for (const port of [15001, 15053, 8080, 15008, 15090]) await pod.listen({ address, port });
    await pod.listen({ address, port: 15006, isTransparent: true });
    for (const port of [80, 443, 9999, 53]) await remote.listen({ address, port });
  }
  // A datagram is answered from the address it came to, so each has a socket of its own.
  await pod.listen({ protocol: "udp", address: "127.0.0.1", port: 15053, uid: PROXY });
  for (const address of [RESOLVER, "9.9.9.9"]) await remote.listen({ protocol: "udp", address, port: 53 });
  await remote.listen({ protocol: "udp", address: "1.2.3.4", port: 443 });
  return { pair, pod, remote };
}

describe("real packets", () => {
  beforeEach(needs("root", "netns", "iptables", "nft", "python3"));

  afterAll(async () => {
    const made = await world?.catch(() => undefined);
    await made?.pod[Symbol.asyncDispose]();
    await made?.remote[Symbol.asyncDispose]();
    await made?.pair[Symbol.asyncDispose]();
  });

  describe.each(BACKENDS)("$backend", ({ flags }) => {
    test.each(SCENARIOS)(
      "$scenario: kernel, expectation and walker agree about every packet",
      async ({ args, env, cases }) => {
        world ??= createWorld();
        const peers = await world;
        const netns = peers.pair.pod;
        const applied = await istioIptables(netns, [...args, ...flags], env);
        onTestFinished(async () => {
          const cleaned = await istioIptables(netns, ["--cleanup-only"]);
          expect(cleaned).toMatchObject({ code: 0 });
        });
        expect(applied).toMatchObject({ code: 0 });
        const walk = walkerFor([...args, ...flags], env);
        const outcomes: unknown[] = [];
        const wanted: unknown[] = [];
        for (const entry of cases) {
          const seen = await peers[entry.by].connect(entry);
          outcomes.push({
            name: entry.name,
            reaches: typeof seen === "string" ? seen : seen.port,
            walker: walk(entry),
          });
          wanted.push({ name: entry.name, reaches: entry.reaches, walker: entry.reaches });
          if (typeof seen !== "string") checkAddresses(entry, seen, args.includes("TPROXY"));
        }
        expect(outcomes).toEqual(wanted);
      },
    );
  });
});

/** A redirected connection keeps its destination in conntrack, a transparent one in its own address; neither changes the client. */
function checkAddresses(entry: Expectation, seen: Seen, isTproxy: boolean): void {
  if (entry.by === "remote") expect(["10.0.0.99", "fd00::99"]).toContain(seen.peer[0]);
  if (entry.protocol === "udp" || seen.port === entry.to[1]) return;
  if (isTproxy && entry.by === "remote") expect(seen.local).toEqual(entry.to);
  else expect(seen.original).toEqual(entry.to);
}

function walkerFor(args: readonly string[], env: Readonly<Record<string, string>>): (entry: Expectation) => number {
  const flags = createFlagValues(CAPTURE_FLAGS, parseFlags(CAPTURE_FLAGS, args, false).set, env);
  const given = readCaptureSettings(flags, env);
  const { settings } = deriveSettings(given.settings, "", {
    userId: () => undefined,
    localAddresses: () => [POD_V4, POD_V6],
    resolvConf: () => RESOLV_CONF,
  });
  expect(checkSettings(settings, given.options).errors).toEqual([]);
  const walk = createWalker(buildRules(settings), {
    names: NO_NAMES,
    backend: settings.nativeNftables ? "nft" : "iptables",
  });
  const locals = [POD_V4, POD_V6, "127.0.0.1"];
  const isLocal = (address: unknown) =>
    locals.some((text) => JSON.stringify(parseIp(text)) === JSON.stringify(address));
  return (entry) => {
    const [address, port] = entry.to;
    const isV6 = address.includes(":");
    const end = (text: string, number: number) => `${text.includes(":") ? `[${text}]` : text}:${number}`;
    const own = isV6 ? POD_V6 : address.startsWith("127.") ? "127.0.0.1" : POD_V4;
    const source = entry.by === "remote" ? (isV6 ? "fd00::99" : "10.0.0.99") : (entry.from ?? own);
    const owner = entry.by === "remote" ? "in eth0" : `uid ${entry.uid ?? 1000} gid ${entry.gid ?? entry.uid ?? 1000}`;
    const text = `${entry.protocol ?? "tcp"} ${end(source, 40000)} -> ${end(address, port)} ${owner}`;
    return portOf(walk(parsePacket(text, isLocal)).fate, port);
  };
}

function portOf(fate: Fate, direct: number): number {
  return fate.kind === "redirected" || fate.kind === "tproxied" ? fate.port : fate.kind === "direct" ? direct : -1;
}
