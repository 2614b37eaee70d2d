import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type LogFields, silentLogger } from "../src/base/logger.ts";
import { startNflogReader } from "../src/capture/nflog-reader.ts";
import { needs } from "../test/support/needs.ts";
import { istioIptables } from "../test/support/netns/capture.ts";
import { createNetns, createNetnsPair, type Netns } from "../test/support/netns/netns.ts";
import { startNetnsPeer } from "../test/support/netns/peer.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";

const ALL = ["-u", "1337", "-i", "*", "-b", "*"];
const checkWithin = (limit: string) => ["--skip-rule-apply", "--run-validation", "--probe-timeout", limit];
const CHECK = checkWithin("20s");
/** Both IP versions, with a way out, as a pod has it. */
const DUAL = { addresses: ["10.0.0.10/24", "2001:db8::10/64"] };

async function withRoutes(netns: Netns): Promise<Netns> {
  await netns.must("ip route add default dev eth0");
  await netns.must("ip -6 route add default dev eth0");
  return netns;
}

describe("validation", () => {
  beforeEach(needs("root", "netns", "iptables", "nft", "setpriv"));

  test.each([
    { backend: "iptables-nft", flags: [] },
    { backend: "nft", flags: ["--native-nftables"] },
  ])("as root with $backend both directions of both IP versions are proven", async ({ flags }) => {
    await using netns = await withRoutes(await createNetns(DUAL));
    const args = [...ALL, "--dual-stack", ...flags];
    expect(await istioIptables(netns, args)).toMatchObject({ code: 0 });
    const result = await istioIptables(netns, [...args, ...CHECK]);
    expect(result.stdout).toContain("Validation passed, iptables rules established");
    for (const line of ["Local addr 127.0.0.1:15006", "Original addr 127.0.0.1: 15002", "Local addr 127.0.0.1:15001"])
      expect(result.stdout).toContain(`${line}\n`);
    for (const line of ["Local addr [::1]:15006", "Original addr ::1: 15002", "Local addr [::1]:15001"])
      expect(result.stdout).toContain(`${line}\n`);
    expect(result).toMatchObject({ code: 0 });
  });

  test("as the proxy's user inbound is proven and outbound is said not to be", async () => {
    await using netns = await withRoutes(await createNetns(DUAL));
    await istioIptables(netns, ALL);
    const user = ["--reuid", "1337", "--regid", "1337", "--clear-groups", "--inh-caps=-all"];
    const result = await netns.exec("setpriv", [...user, PROGRAM, "istio-iptables", ...ALL, ...CHECK]);
    expect(result.stdout).toContain("IPv4 outbound is not checked");
    expect(result.stdout).toContain("Validation passed");
    expect(result).toMatchObject({ code: 0 });
  });

  test("without rules it fails with code 126 and says what did not arrive", async () => {
    await using netns = await withRoutes(await createNetns());
    const result = await istioIptables(netns, [...ALL, ...checkWithin("1500ms")]);
    expect(result).toMatchObject({ code: 126 });
    expect(result.stdout).toMatch(/IPv4 inbound: .*127\.0\.0\.6:15002/);
    expect(result.stdout).toContain("cni.repair.deletePods=true");
  });

  test("a proxy's user that is given by its name is taken for it", async () => {
    await using netns = await withRoutes(await createNetns());
    const args = ["-u", "daemon", "-i", "*", "-b", "*"];
    expect(await istioIptables(netns, args)).toMatchObject({ code: 0 });
    expect(await istioIptables(netns, [...args, ...CHECK])).toMatchObject({ code: 0 });
  });

  test.each([
    { user: "no-such-user", says: "IPv4 inbound: there is no user no-such-user on this machine" },
    { user: "3000000000", says: "cannot become user 3000000000" },
  ])("as user $user nothing can be proven, which is reported", async ({ user, says }) => {
    await using netns = await withRoutes(await createNetns());
    const result = await istioIptables(netns, ["-u", user, "-i", "*", "-b", "*", ...checkWithin("1500ms")]);
    expect(result).toMatchObject({ code: 126, stdout: expect.stringContaining(says) });
  });

  test("rules that capture no outbound traffic are noticed", async () => {
    await using netns = await withRoutes(await createNetns());
    await istioIptables(netns, ["-u", "1337", "-b", "*"]);
    const result = await istioIptables(netns, [...ALL, ...checkWithin("1500ms")]);
    expect(result).toMatchObject({ code: 126 });
    expect(result.stdout).toMatch(/IPv4 outbound: /);
  });
});

describe("trace logging", () => {
  beforeEach(needs("root", "netns", "iptables", "tcpdump", "python3"));

  test("a traced packet is logged with its rule, its owner and its addresses", async () => {
    await using pair = await createNetnsPair();
    await using pod = await startNetnsPeer(pair.pod);
    await using remote = await startNetnsPeer(pair.remote);
    await pod.listen({ address: "0.0.0.0", port: 15006 });
    expect(await istioIptables(pair.pod, [...ALL, "--iptables-trace-logging"])).toMatchObject({ code: 0 });
    const lines: LogFields[] = [];
    const log = { ...silentLogger, info: (_: string, fields: LogFields = {}) => void lines.push(fields) };
    await using reader = await startNflogReader({ log, program: tcpdumpIn(pair.pod) });
    expect(reader.isReading).toBe(true);
    await remote.connect({ to: ["10.0.0.10", 8080] });
    await pod.connect({ to: ["1.2.3.4", 80], uid: 1000 });
    const has = (command: string) => lines.find((line) => line.command === command);
    await until(
      "both packets are logged",
      () => has("InboundCapture") !== undefined && has("JumpOutbound") !== undefined,
    );
    expect(has("InboundCapture")).toMatchObject({ src: "10.0.0.99", dst: "10.0.0.10", uid: "" });
    expect(lines.filter((line) => line.command === "JumpOutbound")).toContainEqual(
      expect.objectContaining({ src: "10.0.0.10", dst: "1.2.3.4", uid: "1000", gid: "1000" }),
    );
  });
});

/** tcpdump inside the namespace, under one name as the reader wants it. */
function tcpdumpIn(netns: Netns): string {
  const folder = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "tcpdump");
  writeFileSync(path, `#!/bin/sh\nexec ip netns exec ${netns.name} tcpdump "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
