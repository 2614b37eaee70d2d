import { renameSync, rmSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { pairFile } from "../test/support/mesh/pair.ts";
import { execute, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs, type Requirement } from "../test/support/needs.ts";
import { type OwnMachine, ownMachine } from "../test/support/netns/own-machine.ts";
import { PROGRAM } from "../test/support/process/program.ts";

const REQUIRES: readonly Requirement[] = ["envoy", "netns", "iptables", "setpriv"];
const LEFT =
  /mesh pair, which was killed and whose state folder is gone: interface pamesh\d+, 3 network namespaces, rules of the packet filter/;

/** All that a mesh could have changed on the machine. */
const LOOK = `ip -o link | cut -d: -f2; ip netns; ls -d /etc/netns /run/netns/* 2>/dev/null
iptables -S; iptables -t nat -S; cat /proc/sys/net/ipv4/ip_forward`;

describe("on a machine that does not forward packets", () => {
  let folder: TemporaryFolder;
  let machine: OwnMachine;
  let before: string;

  beforeAll(async () => {
    if (!REQUIRES.every(has)) return;
    folder = temporaryFolder({ isShared: true });
    machine = await ownMachine(folder.path);
    before = await machine.shell(LOOK);
  });
  afterAll(async () => {
    if (!REQUIRES.every(has)) return;
    await machine[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  beforeEach(needs(...REQUIRES));

  const start = async (): Promise<MeshRun> => {
    const { wrapper } = machine;
    const run = startMeshRun({ file: pairFile({ port: 8080 }), name: "pair", folder: folder.path, wrapper });
    await run.untilUp();
    return run;
  };
  /** The record of forwarding goes too: it is not the only one that says what was. */
  const killAndForget = async (run: MeshRun) => {
    process.kill(run.state().parent.pid, "SIGKILL");
    await run.exited;
    rmSync(run.stateFolder, { recursive: true });
    await machine.shell("rm -r /run/pilot-agent");
  };

  test("a mesh forwards packets while it is up, and leaves the machine as it was", async () => {
    {
      await using run = await start();
      expect(before).toMatch(/^0\n$/m);
      expect(await machine.shell("cat /proc/sys/net/ipv4/ip_forward")).toBe("1\n");
      expect(await machine.shell(`cat /sys/class/net/${run.state().interfaces[0]}/ifalias`)).toBe(
        `pilot-agent mesh pair, run ${run.state().runId}, state in ${run.stateFolder}\n`,
      );
    }
    expect(await machine.shell(LOOK)).toBe(before);
  });

  test("what a killed mesh left is named by mesh ls and removed by mesh down, also when its state folder is gone", async () => {
    await using run = await start();
    const { controlSocket } = run.state();
    await killAndForget(run);
    expect(await machine.shell(LOOK)).not.toBe(before);
    const listed = await run.cli("ls");
    expect(listed.stdout).toMatch(/^pair +abandoned +2$/m);
    expect(listed.stdout).toMatch(new RegExp(`^left of ${LEFT.source}\npilot-agent mesh down removes it$`, "m"));
    const down = await run.cli("down");
    expect([down.code, down.stderr]).toEqual([0, ""]);
    expect(down.stdout).toMatch(new RegExp(`^removed what is left of ${LEFT.source}\n$`));
    expect(await machine.shell(LOOK)).toBe(before);
    expect(await machine.shell(`ls ${controlSocket}`)).toBe("");
    expect(await run.cli("down")).toMatchObject({ code: 1, stderr: `Error: no mesh runs in ${run.stateFolder}\n` });
  });

  test("the next mesh up removes it as well, and has the same network again", async () => {
    await using first = await start();
    const { interfaces } = first.state();
    await killAndForget(first);
    {
      await using second = await start();
      expect(second.output()).toMatch(new RegExp(`^warn: removed what is left of ${LEFT.source}$`, "m"));
      expect(second.state().interfaces).toEqual(interfaces);
    }
    expect(await machine.shell(LOOK)).toBe(before);
  });

  test("a mesh that runs is left alone, also without its state folder and seen from another network", async () => {
    await using run = await start();
    renameSync(run.stateFolder, `${run.stateFolder}-aside`);
    const [enter = "", target = "", pid = ""] = machine.wrapper;
    const elsewhere = [enter, target, pid, "--mount", "unshare", "--net", "sh", "-c"];
    const inPlace = machine.wrapper.concat("sh", "-c");
    const calls = ["ls", "down --name pair"].map((words) => `${PROGRAM} mesh ${words} --state-dir ${folder.path}/none`);
    for (const place of [inPlace, elsewhere]) {
      expect(await execute([...place, calls.join("; ")], "/")).toMatchObject({
        stdout: `no mesh in ${folder.path}/none; pilot-agent mesh up starts one\n`,
        stderr: `Error: no mesh runs in ${folder.path}/none/pair\n`,
      });
    }
    renameSync(`${run.stateFolder}-aside`, run.stateFolder);
    const [entry = ""] = Object.values((await run.status()).entries);
    expect(await machine.shell(`curl -s -m 30 ${entry}`)).toBe("hello pair");
  });
});
