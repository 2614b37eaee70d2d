import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_SETTINGS } from "./core/settings.ts";
import type { NetworkContext } from "./network-context.ts";
import { configureRoutes, removePassthroughAddress, removePolicyRoutes, removeStaleRoutes } from "./routes.ts";

const TPROXY = { ...DEFAULT_SETTINGS, interceptionMode: "TPROXY", inboundPortsInclude: "*" };
const HAS_ADDRESS = "00000000000000000000000000000006 01 80 00 80       lo\n";

/** An `ip` that answers from a table and fails for the calls given. */
function context(
  answers: Readonly<Record<string, string>>,
  fails: Readonly<Record<string, string>> = {},
  ifInet6 = "",
) {
  const procNet = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(procNet, { recursive: true, force: true }));
  writeFileSync(join(procNet, "if_inet6"), ifInet6);
  const calls: string[] = [];
  const network: NetworkContext = {
    procNet,
    lockFile: undefined,
    run: async ({ args }) => {
      const call = args.join(" ");
      calls.push(call);
      const stderr = fails[call];
      return stderr === undefined
        ? { code: 0, stdout: answers[call] ?? "", stderr: "" }
        : { code: 2, stdout: "", stderr };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { network, calls };
}

test("TPROXY gets one rule and one route per IP version, IPv6 its passthrough address", async () => {
  const { network } = context({});
  expect((await configureRoutes({ ...TPROXY, ipv6: true }, network)).changed).toEqual([
    "ip -6 addr add ::6/128 dev lo",
    "ip -4 rule add fwmark 1337 lookup 133",
    "ip -4 route add local default dev lo table 133",
    "ip -6 rule add fwmark 1337 lookup 133",
    "ip -6 route add local default dev lo table 133",
  ]);
});

test("what is there is not added again", async () => {
  const { network } = context(
    { "-4 -N rule list": "0:\tfrom all lookup local\n32765:\tfrom all fwmark 0x539 lookup 133\n" },
    { "-4 route add local default dev lo table 133": "RTNETLINK answers: File exists" },
    HAS_ADDRESS,
  );
  expect((await configureRoutes(TPROXY, network)).changed).toEqual([]);
});

test("a table that has a name on this machine is known by its number", async () => {
  const listings = {
    "-4 -N rule list": "32765:\tfrom all fwmark 0x539 lookup 133\n",
    "-4 rule list": "32765:\tfrom all fwmark 0x539 lookup istio\n",
  };
  const { network, calls } = context(listings);
  await configureRoutes(TPROXY, network);
  expect(calls).not.toContain("-4 rule add fwmark 1337 lookup 133");
});

test("an ip that lists no numbers is asked as ever, and a rule that is there all the same is not a failure", async () => {
  const unknown = { "-4 -N rule list": 'Option "-N" is unknown, try "ip -help".' };
  const plain = context({ "-4 rule list": "32765:\tfrom all fwmark 0x539 lookup 133\n" }, unknown);
  await configureRoutes(TPROXY, plain.network);
  expect(plain.calls).not.toContain("-4 rule add fwmark 1337 lookup 133");
  const there = { ...unknown, "-4 rule add fwmark 1337 lookup 133": "RTNETLINK answers: File exists" };
  const named = context({ "-4 rule list": "32765:\tfrom all fwmark 0x539 lookup istio\n" }, there);
  expect((await configureRoutes(TPROXY, named.network)).changed).toEqual([
    "ip -4 route add local default dev lo table 133",
  ]);
});

test("a refused step takes the earlier ones back", async () => {
  const { network, calls } = context(
    {},
    { "-4 route add local default dev lo table 133": "RTNETLINK answers: Operation not permitted" },
  );
  await expect(configureRoutes(TPROXY, network)).rejects.toThrow(
    /failed to configure routes: .*Operation not permitted/,
  );
  expect(calls.at(-1)).toBe("-4 rule del fwmark 1337 lookup 133");
});

test("without inbound ports or TPROXY there is nothing to route", async () => {
  const { network, calls } = context({});
  await configureRoutes({ ...TPROXY, inboundPortsInclude: "" }, network);
  await configureRoutes(DEFAULT_SETTINGS, network);
  expect(calls).toEqual([]);
});

const LOCAL = "local default dev lo scope host \n";

test("only rules with our marks and nothing but the local default behind them are removed", async () => {
  const rules = [
    "0:\tfrom all lookup local",
    "32763:\tfrom all fwmark 0x539 lookup 133",
    "32764:\tfrom all fwmark 0x539 lookup 133",
    "32765:\tfrom all fwmark 0x539 lookup 500",
    "32766:\tfrom all fwmark 0x7 lookup 134",
  ].join("\n");
  const { network } = context({
    "-4 -N rule list": rules,
    "-4 route list table 133": LOCAL,
    "-4 route list table 134": LOCAL,
    "-4 route list table 500": "default via 10.0.0.1 dev eth0\n",
  });
  expect(await removePolicyRoutes(network, new Set([1337]))).toEqual({
    changed: [
      "ip -4 rule del fwmark 1337 lookup 133",
      "ip -4 rule del fwmark 1337 lookup 133",
      "ip -4 route del local default dev lo table 133",
    ],
    failed: [],
  });
});

test.each(["32766:\tfrom all fwmark 0x7 lookup 133", "32767:\tfrom 10.0.0.0/8 fwmark 0x539 lookup 133"])(
  "a table that a stranger's rule leads to keeps its route: %s",
  async (stranger) => {
    const rules = `32763:\tfrom all fwmark 0x539 lookup 133\n${stranger}\n`;
    const { network } = context({ "-4 -N rule list": rules, "-4 route list table 133": LOCAL });
    expect((await removePolicyRoutes(network, new Set([1337]))).changed).toEqual([
      "ip -4 rule del fwmark 1337 lookup 133",
    ]);
  },
);

test("the passthrough address is removed where it is", async () => {
  expect(await removePassthroughAddress(context({}, {}, HAS_ADDRESS).network)).toEqual({
    changed: ["ip -6 addr del ::6/128 dev lo"],
    failed: [],
  });
  expect(await removePassthroughAddress(context({}).network)).toEqual({ changed: [], failed: [] });
});

test("what cannot be removed is reported, and the next is tried", async () => {
  const refused = { "-4 rule del fwmark 1337 lookup 133": "RTNETLINK answers: Operation not permitted" };
  const listings = {
    "-4 -N rule list": "32763:\tfrom all fwmark 0x539 lookup 133\n",
    "-4 route list table 133": LOCAL,
  };
  expect(await removePolicyRoutes(context(listings, refused).network, new Set([1337]))).toEqual({
    changed: ["ip -4 route del local default dev lo table 133"],
    failed: [expect.stringMatching(/ip -4 rule del fwmark 1337 lookup 133: .*Operation not permitted/)],
  });
});

test.each([
  { name: "from dual stack to IPv4", ipv6: false, changed: ["ip -6 addr del ::6/128 dev lo"] },
  { name: "with IPv6 as before", ipv6: true, changed: [] },
])("reconciling $name removes the passthrough address only where IPv6 is off", async ({ ipv6, changed }) => {
  const { network } = context({}, {}, HAS_ADDRESS);
  const settings = { ...DEFAULT_SETTINGS, ipv6 };
  expect(await removeStaleRoutes(settings, new Set(), network)).toEqual({ changed, failed: [] });
});
