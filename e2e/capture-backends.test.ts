import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../test/support/needs.ts";
import { BACKENDS, istioIptables, networkState } from "../test/support/netns/capture.ts";
import { createNetns, type Netns } from "../test/support/netns/netns.ts";

const TPROXY = ["-u", "1337", "-i", "*", "-b", "*", "-m", "TPROXY"];
const REDIRECT = ["-u", "1337", "-i", "*", "-b", "*"];

beforeEach(needs("root", "netns", "iptables", "nft"));

const SWITCHES = BACKENDS.flatMap((from) => BACKENDS.filter((to) => to !== from).map((to) => ({ from, to })));

describe("a run with another backend than the last one", () => {
  test.each(SWITCHES)("$from.backend, then $to.backend: refused, or replaced on request", async ({ from, to }) => {
    await using netns = await createNetns();
    await using fresh = await createNetns();
    await must(netns, [...TPROXY, "-t", "99", ...from.flags]);
    const before = await networkState(netns);
    const refused = await istioIptables(netns, [...REDIRECT, ...to.flags]);
    expect(refused).toMatchObject({ code: 1 });
    const place = from.backend === "nft" ? "native nftables" : from.backend;
    expect(refused.stdout).toContain(`rules of an earlier run are in force in ${place}, and would act beside`);
    expect(refused.stdout).toContain("Use --reconcile to replace them, or --cleanup-only to remove them first");
    expect(await networkState(netns)).toBe(before);

    await must(netns, [...REDIRECT, ...to.flags, "--reconcile"]);
    await must(fresh, [...REDIRECT, ...to.flags]);
    // Rules, and the policy route of the old ones.
    expect(await networkState(netns)).toBe(await networkState(fresh));
  });

  test("rules that are in place are left so, and those beside them are reported", async () => {
    await using netns = await createNetns();
    await must(netns, [...REDIRECT, "--native-nftables"]);
    const native = await netns.must("nft list ruleset");
    await must(netns, ["--cleanup-only"]);
    await must(netns, REDIRECT);
    await netns.must("nft -f -", { input: native });
    const both = await networkState(netns);
    const again = await istioIptables(netns, REDIRECT);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain("rules of an earlier run are in force in native nftables as well");
    expect(await networkState(netns)).toBe(both);
    expect((await must(netns, [...REDIRECT, "--reconcile"])).stdout).toContain(
      "Removed the rules of an earlier run from native nftables",
    );
    expect((await must(netns, REDIRECT)).stdout).not.toContain("earlier run");
  });

  test("old rules that cannot be removed bring the new ones back out", async () => {
    await using netns = await createNetns();
    await must(netns, [...REDIRECT, "--force-iptables-binary", "legacy"]);
    const before = await networkState(netns);
    const env = { PATH: withRefusing("iptables-legacy-restore") };
    const result = await istioIptables(netns, [...REDIRECT, "--native-nftables", "--reconcile"], env);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stdout).toMatch(/earlier run in iptables-legacy cannot be replaced: .*refused by the test/);
    expect(await networkState(netns)).toBe(before);
  });
});

describe("cleaning", () => {
  test.each([
    { refuses: "nft", says: /native nftables: nftables run failed: refused by the test/, left: "istio-proxy-nat" },
    { refuses: "iptables-nft-restore", says: /iptables-nft: .*refused by the test/, left: "-A OUTPUT -j ISTIO" },
    { refuses: "iptables-legacy-restore", says: /iptables-legacy: .*refused/, left: "-A OUTPUT -j ISTIO" },
  ])(
    "where $refuses refuses, everything else is removed and the failure is reported",
    async ({ refuses, says, left }) => {
      await using netns = await createNetns();
      const empty = await networkState(netns);
      await everywhere(netns);
      const result = await istioIptables(netns, ["--cleanup-only"], { PATH: withRefusing(refuses) });
      expect(result).toMatchObject({ code: 1 });
      expect(result.stdout).toMatch(/not everything of traffic capture could be removed: /);
      expect(result.stdout).toMatch(says);
      const state = await networkState(netns);
      const places = [/istio-proxy-nat/, /# iptables-nft-save\n[^#]*ISTIO/, /# iptables-legacy-save\n[^#]*ISTIO/];
      expect(places.filter((place) => place.test(state))).toHaveLength(1);
      expect(state).toContain(left);
      // The marks of all are the same: the rules that stay need the route.
      expect(state).toContain("fwmark 0x539");
      expect(await istioIptables(netns, ["--cleanup-only"])).toMatchObject({ code: 0 });
      expect(await networkState(netns)).toBe(empty);
    },
  );

  test("--reconcile from dual stack to IPv4 takes ::6 from lo, and leaves it when IPv6 stays", async () => {
    await using netns = await createNetns({ addresses: ["10.0.0.10/24", "fd00::10/64"] });
    const loopback = () => netns.must("ip -6 addr show dev lo");
    await must(netns, [...REDIRECT, "--dual-stack"]);
    expect(await loopback()).toContain("::6/128");
    await must(netns, [...REDIRECT, "--dual-stack", "-p", "15009", "--reconcile"]);
    expect(await loopback()).toContain("::6/128");
    await must(netns, [...REDIRECT, "--reconcile"]);
    expect(await loopback()).not.toContain("::6/128");
    expect(await netns.must("ip6tables-nft-save")).not.toContain("ISTIO");
  });

  test("an IPv6 program that refuses does not keep the IPv4 rules", async () => {
    await using netns = await createNetns({ addresses: ["10.0.0.10/24", "fd00::10/64"] });
    await must(netns, [...REDIRECT, "--dual-stack"]);
    const env = { PATH: withRefusing("ip6tables-nft-restore") };
    const result = await istioIptables(netns, ["--cleanup-only"], env);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stdout).toMatch(/removed: ip6tables-nft: .*refused by the test/);
    expect(await netns.must("iptables-nft-save")).not.toContain("ISTIO");
    expect(await netns.must("ip6tables-nft-save")).toContain("ISTIO");
    expect(await netns.must("ip -6 addr show dev lo")).toContain("::6/128");
  });
});

async function must(netns: Netns, args: readonly string[]) {
  const result = await istioIptables(netns, args);
  expect(result, result.stdout).toMatchObject({ code: 0 });
  return result;
}

/** The same rules three times over, as only programs that know nothing of each other make them. */
async function everywhere(netns: Netns): Promise<void> {
  await must(netns, [...TPROXY, "--native-nftables"]);
  const native = await netns.must("nft list ruleset inet");
  await must(netns, ["--cleanup-only"]);
  await must(netns, [...TPROXY, "--force-iptables-binary", "nft"]);
  const saved = await netns.must("iptables-nft-save");
  await netns.must("iptables-legacy-restore --noflush", { input: saved });
  await netns.must("nft -f -", { input: native });
}

/** A path on which one program refuses to write; listings still work. */
function withRefusing(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), "capture-path-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const real = `exec /usr/sbin/${program} "$@"`;
  const script =
    program === "nft"
      ? `case "$1" in -f) echo "refused by the test" >&2; exit 1 ;; esac\n${real}`
      : `echo "refused by the test" >&2\nexit 1`;
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, program), 0o755);
  return [folder, process.env.PATH].join(delimiter);
}
