import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../src/base/logger.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "../src/capture/core/settings.ts";
import { runCapture } from "../src/capture/run-capture.ts";
import { type RunProgram, runProgram } from "../src/capture/run-program.ts";
import { needs } from "../test/support/needs.ts";
import { istioIptables, networkState } from "../test/support/netns/capture.ts";
import { createNetns, type Netns } from "../test/support/netns/netns.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { signalProcess } from "../test/support/process/signal-process.ts";
import { until } from "../test/support/wait/until.ts";

const ALL = ["-u", "1337", "-i", "*", "-b", "*"];

beforeEach(needs("root", "netns", "iptables", "nft", "setpriv"));

describe("a failure leaves everything as it was", () => {
  test("the second table is refused: the first one is taken back, rules of others stay", async () => {
    await using netns = await createNetns();
    await netns.must("iptables-nft -t mangle -A PREROUTING -m mark --mark 7 -j RETURN");
    const before = await networkState(netns);
    const env = { ISTIO_OUTBOUND_OWNER_GROUPS: "no-such-group" };
    const result = await istioIptables(netns, [...ALL, "-m", "TPROXY"], env);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/no-such-group.*rolled back: v4 mangle/s);
    expect(await networkState(netns)).toBe(before);
  });

  test("IPv6 is refused after IPv4 was taken: both are taken back", async () => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const run = failing((call) => call.includes("ip6tables-nft-restore"), "ip6tables-nft-restore: line 2 failed");
    await expect(capture(netns, run, { ipv6: true })).rejects.toThrow(/ip6tables-nft-restore.*rolled back: v4 nat/s);
    expect(await networkState(netns)).toBe(before);
  });

  test("the kernel lacks a match: the message of iptables is passed on and nothing changes", async () => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const text =
      "Warning: Extension owner revision 0 not supported, missing kernel module?\niptables-nft-restore: line 13 failed";
    const run = failing((call) => call.includes("iptables-nft-restore"), text);
    await expect(capture(netns, run)).rejects.toThrow(/missing kernel module\?.*nothing was changed/s);
    expect(await networkState(netns)).toBe(before);
  });

  test("the policy route is refused: the rules are taken back as well", async () => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const run = failing((call) => call.includes("rule add"), "RTNETLINK answers: Operation not permitted");
    const tproxy = { interceptionMode: "TPROXY", inboundPortsInclude: "*" };
    await expect(capture(netns, run, tproxy)).rejects.toThrow(/failed to configure routes.*not permitted/s);
    expect(await networkState(netns)).toBe(before);
    await expect(capture(netns, run, { ...tproxy, nativeNftables: true })).rejects.toThrow("not permitted");
    expect(await networkState(netns)).toBe(before);
  });

  test("reconciling is refused half-way: the old rules are back in their old places", async () => {
    await using netns = await createNetns();
    await capture(netns, runProgram, { interceptionMode: "TPROXY", inboundPortsInclude: "8080" });
    await netns.must("iptables-nft -t nat -I OUTPUT 1 -p tcp --dport 123 -j ACCEPT");
    const before = await networkState(netns);
    const env = { ISTIO_OUTBOUND_OWNER_GROUPS: "no-such-group" };
    const result = await istioIptables(netns, [...ALL, "-m", "TPROXY", "--reconcile"], env);
    expect(result).toMatchObject({ code: 1 });
    expect(await networkState(netns)).toBe(before);
  });
});

describe("programs", () => {
  test("without ip6tables IPv4 still works, with a warning; IPv6 is refused before anything runs", async () => {
    await using netns = await createNetns();
    const env = {
      PATH: programFolder(["iptables-nft-save", "iptables-nft-restore", "ip", "node", "dirname", "readlink", "env"]),
    };
    expect(await istioIptables(netns, ALL, env)).toMatchObject({ code: 0 });
    const again = await istioIptables(netns, ALL, env);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain("ip6tables cannot be used");
    await netns.must("ip -6 addr add 2001:db8::10/64 dev eth0 nodad");
    await istioIptables(netns, ["--cleanup-only"]);
    const before = await networkState(netns);
    const second = await istioIptables(netns, [...ALL, "--dual-stack"], env);
    expect(second).toMatchObject({ code: 1 });
    expect(second.stdout).toContain('exec: "ip6tables-nft-save": executable file not found in $PATH');
    expect(await networkState(netns)).toBe(before);
  });

  test("no iptables at all is one clear message", async () => {
    await using netns = await createNetns();
    const env = { PATH: programFolder(["ip", "node", "dirname", "readlink", "env"]) };
    const result = await istioIptables(netns, ALL, env);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stdout).toContain(
      'failed to execute iptables-save: exec: "iptables-save": executable file not found in $PATH',
    );
  });

  test("nft alone is enough to apply and to clean", async () => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const env = { PATH: programFolder(["nft", "ip", "node", "dirname", "readlink", "env"]) };
    expect(await istioIptables(netns, [...ALL, "--native-nftables"], env)).toMatchObject({ code: 0 });
    expect(await istioIptables(netns, ["--native-nftables", "--cleanup-only"], env)).toMatchObject({ code: 0 });
    expect(await networkState(netns)).toBe(before);
    const without = { PATH: programFolder(["ip", "node", "dirname", "readlink", "env"]) };
    const missing = await istioIptables(netns, [...ALL, "--native-nftables"], without);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stdout).toContain(
      "nativeNftables is enabled, but the nft binary is missing in the sidecar container image",
    );
  });

  test("without privileges the kernel's refusal is the message", async () => {
    await using netns = await createNetns();
    const user = ["--reuid", "1000", "--regid", "1000", "--clear-groups", "--inh-caps=-all"];
    const result = await netns.exec("setpriv", [...user, PROGRAM, "istio-iptables", ...ALL]);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stdout).toMatch(/exit status 4.*you must be root/s);
  });

  test("the text that is written and the final state are shown at debug level only", async () => {
    await using netns = await createNetns();
    const quiet = await istioIptables(netns, [...ALL, "--redirect-dns", "--capture-all-dns"]);
    expect(quiet.stdout).not.toMatch(/Running iptables restore|Final iptables state/);
    await istioIptables(netns, ["--cleanup-only"]);
    const loud = await istioIptables(netns, [...ALL, "--log_output_level", "default:debug"]);
    expect(loud.stdout).toMatch(
      /Running iptables restore with: iptables-nft-restore and the following input:\n\* nat\n/,
    );
    expect(loud.stdout).toMatch(/Final iptables state \(IPv4\):\n.*-A OUTPUT -j ISTIO_OUTPUT/s);
  });

  test("finding the program does not create legacy tables", async () => {
    await using netns = await createNetns();
    await istioIptables(netns, ALL);
    await istioIptables(netns, ALL);
    expect(await netns.must("cat /proc/net/ip_tables_names")).toBe("");
    expect(await netns.must("iptables-legacy-save")).toBe("");
  });

  test("a held lock is waited for, and who holds it is said", async () => {
    await using netns = await createNetns();
    const lock = join(temporaryFolder(), "xtables.lock");
    const holder = netns.spawn("flock", [lock, "cat"]);
    holder.stdin?.write("held\n");
    if (holder.stdout !== null) await once(holder.stdout, "data");
    const child = netns.spawn(PROGRAM, ["istio-iptables", ...ALL, "--force-iptables-binary", "legacy"], {
      XTABLES_LOCKFILE: lock,
    });
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    const exited = once(child, "close");
    await until(() => said.includes("for the xtables lock"));
    expect(said).toMatch(
      new RegExp(`waiting up to 30s for the xtables lock ${lock}, which another process holds \\(process \\d+\\)`),
    );
    holder.stdin?.end();
    expect(await exited).toEqual([0, null]);
    expect(await netns.must("iptables-legacy-save")).toContain("-A OUTPUT -j ISTIO_OUTPUT");
  });
});

describe("interrupted and repeated runs", () => {
  test("killed between IPv4 and IPv6, the next run completes the rules", async () => {
    await using netns = await createNetns({ addresses: ["10.0.0.10/24", "2001:db8::10/64"] });
    const folder = programFolder([
      "iptables-nft-save",
      "ip6tables-nft-save",
      "iptables-nft-restore",
      "ip",
      "node",
      "dirname",
      "readlink",
      "env",
    ]);
    const hanging = join(folder, "ip6tables-nft-restore");
    const isHanging = join(folder, "is-hanging");
    writeFileSync(hanging, `#!/bin/sh\n: > ${isHanging}\nexec /bin/cat /dev/zero >/dev/null\n`);
    chmodSync(hanging, 0o755);
    const child = netns.spawn(PROGRAM, ["istio-iptables", ...ALL, "--dual-stack"], { PATH: folder });
    const closed = once(child, "close");
    await until("the rules of IPv4 are there, those of IPv6 are on their way", () => existsSync(isHanging));
    expect(await netns.must("iptables-nft-save")).toContain("ISTIO_OUTPUT");
    // The namespace wrapper became the program, so this is the pid of the command itself.
    // Its end is awaited first: a process that is listed and gone a moment later cannot be ended again.
    const ended = once(child, "exit");
    signalProcess(child.pid, "SIGKILL");
    await ended;
    await endHanging(netns);
    await closed;
    expect(await netns.must("ip6tables-nft-save")).not.toContain("ISTIO");
    expect(await istioIptables(netns, [...ALL, "--dual-stack"])).toMatchObject({ code: 0 });
    expect(await netns.must("ip6tables-nft-save")).toContain("-A OUTPUT -j ISTIO_OUTPUT");
    const again = await istioIptables(netns, [...ALL, "--dual-stack"]);
    expect(again.stdout).toContain("nothing was changed");
  });

  test("killed between two tables, the next run adds the missing one and keeps the other", async () => {
    await using netns = await createNetns();
    await istioIptables(netns, [...ALL, "-m", "TPROXY"]);
    const complete = await networkState(netns);
    for (const action of ["-F", "-X"]) await netns.must(`iptables-nft -t nat ${action}`);
    expect(await istioIptables(netns, [...ALL, "-m", "TPROXY"])).toMatchObject({ code: 0 });
    expect(await networkState(netns)).toBe(complete);
  });

  test("two runs at the same time end with one set of rules", async () => {
    await using netns = await createNetns();
    const results = await Promise.all([istioIptables(netns, ALL), istioIptables(netns, ALL)]);
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    const listing = await netns.must("iptables-nft-save -t nat");
    expect(listing.match(/-A OUTPUT -j ISTIO_OUTPUT/g)).toHaveLength(1);
  });

  test("TPROXY routes are not doubled, and doubled ones of others' making are all removed", async () => {
    await using netns = await createNetns();
    for (let times = 0; times < 2; times += 1) await istioIptables(netns, [...ALL, "-m", "TPROXY"]);
    expect((await netns.must("ip rule list")).match(/fwmark 0x539/g)).toHaveLength(1);
    await netns.must("ip rule add fwmark 1337 lookup 133");
    await istioIptables(netns, ["--cleanup-only"]);
    expect(await netns.must("ip rule list")).not.toContain("fwmark");
  });
});

describe("drift", () => {
  test("strangers in built-in chains are not drift, changes in our chains are; --reconcile replaces them", async () => {
    await using netns = await createNetns();
    await istioIptables(netns, ALL);
    await netns.must("iptables-nft -t nat -A OUTPUT -p tcp --dport 123 -j ACCEPT");
    expect((await istioIptables(netns, ALL)).stdout).toContain("nothing was changed");
    await netns.must("iptables-nft -t nat -A ISTIO_INBOUND -p tcp --dport 77 -j RETURN");
    const refused = await istioIptables(netns, ALL);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stdout).toContain("Use --reconcile to replace them");
    expect(await istioIptables(netns, [...ALL, "--reconcile"])).toMatchObject({ code: 0 });
    const listing = await netns.must("iptables-nft-save -t nat");
    expect(listing).not.toContain("--dport 77");
    expect(listing).toContain("--dport 123 -j ACCEPT");
  });

  test("forced on top of equal rules, the kernel refuses and nothing changes; with --reconcile they are replaced", async () => {
    await using netns = await createNetns();
    await istioIptables(netns, ALL);
    const before = await networkState(netns);
    const forced = await istioIptables(netns, [...ALL, "--force-apply"]);
    expect(forced).toMatchObject({ code: 1 });
    expect(forced.stdout).toContain("nothing was changed");
    expect(await istioIptables(netns, [...ALL, "--force-apply", "--reconcile"])).toMatchObject({ code: 0 });
    expect(await networkState(netns)).toBe(before);
  });

  test("a stranger's chain with our name: harmless where that IP version is off, refused where it is on", async () => {
    await using netns = await createNetns({ addresses: ["10.0.0.10/24", "2001:db8::10/64"] });
    await netns.must("ip6tables-nft -t nat -N ISTIO_INBOUND");
    expect(await istioIptables(netns, ALL)).toMatchObject({ code: 0 });
    expect(await istioIptables(netns, [...ALL, "--dual-stack"])).toMatchObject({ code: 1 });
  });
});

describe("input is checked before anything runs", () => {
  /** One namespace for all of them: none may change it. Made late, so that a machine without namespaces skips first. */
  let untouched: Promise<{ netns: Netns; before: string }> | undefined;
  const machine = async () => {
    const netns = await createNetns();
    return { netns, before: await networkState(netns) };
  };
  afterAll(async () => (await untouched)?.netns[Symbol.asyncDispose]());

  test.each([
    { what: "a mistyped mode", args: ["-m", "tproxy"], env: {}, says: /"tproxy": allowed are REDIRECT, TPROXY, NONE/ },
    {
      what: "a blank in an interface name",
      args: ["-c", "eth0 -j DROP"],
      env: {},
      says: /invalid interface name "eth0 -j DROP"/,
    },
    {
      what: "a semicolon in an interface name",
      args: ["-k", "a;reboot"],
      env: {},
      says: /invalid interface name "a;reboot"/,
    },
    {
      what: "a port that is none",
      args: ["-b", "80,http"],
      env: {},
      says: /invalid port "http" in --istio-inbound-ports/,
    },
    {
      what: "65 owner groups",
      args: [],
      env: { ISTIO_OUTBOUND_OWNER_GROUPS: Array.from({ length: 65 }, (_, index) => index + 1).join(",") },
      says: /cannot exceed 64, got 65: \[1 2 3/,
    },
    { what: "a line break in a CIDR", args: ["-x", "10.0.0.0/8\n-A OUTPUT -j DROP"], env: {}, says: /invalid CIDR/ },
  ])("$what ends with code 1 and a message that names it", async ({ args, env, says }) => {
    untouched ??= machine();
    const { netns, before } = await untouched;
    const result = await istioIptables(netns, [...ALL, ...args], env);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stdout).toMatch(says);
    expect(await networkState(netns)).toBe(before);
  });

  test("10,000 ports are applied, recognised and removed", async () => {
    await using netns = await createNetns();
    const before = await networkState(netns);
    const ports = Array.from({ length: 10_000 }, (_, index) => 20_000 + index).join(",");
    const args = ["-u", "1337", "-i", "*", "-b", ports];
    expect(await istioIptables(netns, args)).toMatchObject({ code: 0 });
    expect((await istioIptables(netns, args)).stdout).toContain("nothing was changed");
    expect(await istioIptables(netns, ["--cleanup-only"])).toMatchObject({ code: 0 });
    expect(await networkState(netns)).toBe(before);
  });
});

test("another network namespace is programmed from outside, with programs isolated as the CNI plugin does", async () => {
  await using netns = await createNetns();
  await using own = await createNetns();
  const nameService = existsSync("/etc/nsswitch.conf") ? readFileSync("/etc/nsswitch.conf", "utf8") : "";
  const before = await networkState(own);
  const result = await istioIptables(own, [...ALL, "--network-namespace", netns.path, "--cni-mode"]);
  expect(result).toMatchObject({ code: 0 });
  expect(await netns.must("iptables-nft-save")).toContain("-A OUTPUT -j ISTIO_OUTPUT");
  expect(await networkState(own)).toBe(before);
  expect(existsSync("/etc/nsswitch.conf") ? readFileSync("/etc/nsswitch.conf", "utf8") : "").toBe(nameService);
  const missing = await istioIptables(own, [...ALL, "--network-namespace", "/run/netns/pa-cap-none"]);
  expect(missing).toMatchObject({ code: 1 });
  expect(missing.stdout).toContain("/run/netns/pa-cap-none");
});

/** The library in this process, programs in the namespace, some of them failing. */
function capture(netns: Netns, run: RunProgram, settings: Partial<typeof DEFAULT_SETTINGS> = {}): Promise<void> {
  return runCapture({
    settings: { ...DEFAULT_SETTINGS, outboundIpRangesInclude: "*", ...settings },
    options: { ...DEFAULT_OPTIONS, networkNamespace: netns.path },
    env: {},
    log: silentLogger,
    print: () => undefined,
    run,
  });
}

function failing(isFailing: (call: string) => boolean, stderr: string): RunProgram {
  return (call) => {
    if (!isFailing([call.program, ...call.args].join(" "))) return runProgram(call);
    return Promise.resolve({ code: 1, stdout: "", stderr });
  };
}

/** A PATH with nothing but these programs. */
function programFolder(names: readonly string[]): string {
  const folder = temporaryFolder();
  for (const name of names) {
    const path = ["/usr/sbin", "/sbin", "/usr/bin", "/bin", join(process.execPath, "..")]
      .map((dir) => join(dir, name))
      .find((candidate) => existsSync(candidate));
    if (path !== undefined) symlinkSync(path, join(folder, name));
  }
  return folder;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Ends the program that stood in for the hanging restore: the only process in the namespace. */
async function endHanging(netns: Netns): Promise<void> {
  const { stdout } = await runProgram({ program: "ip", args: ["netns", "pids", netns.name] });
  for (const pid of stdout.split("\n").filter((line) => line !== "")) signalProcess(Number(pid), "SIGKILL");
}
