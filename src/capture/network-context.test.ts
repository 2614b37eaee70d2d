import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../test/support/needs.ts";
import { createNetns } from "../../test/support/netns/netns.ts";
import { signalProcess } from "../../test/support/process/signal-process.ts";
import { silentLogger } from "../base/logger.ts";
import { openNetworkContext } from "./network-context.ts";
import { runProgram } from "./run-program.ts";

const open = (networkNamespace: string, cniMode = false) =>
  openNetworkContext({ networkNamespace, cniMode, run: runProgram, log: silentLogger });

/** Our own children that run `cat`. */
function holders(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, state, parent] = /^\d+ \(cat\) (.) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
        return state !== undefined && state !== "Z" && Number(parent) === process.pid;
      } catch {
        return false;
      }
    });
}

test("without a name programs run where we are", async () => {
  await using context = await open("");
  expect(context.procNet).toBe("/proc/self/net");
  expect((await context.run({ program: "readlink", args: ["/proc/self/ns/net"] })).stdout.trim()).toBe(
    readlinkSync("/proc/self/ns/net"),
  );
});

test.each(["/no/such/namespace", "/etc/hostname", "--help", "a\nb"])("%j is refused: not a namespace", async (path) => {
  await expect(open(path)).rejects.toThrow(`cannot enter network namespace ${path}: `);
  expect(holders()).toEqual([]);
});

test("a path that no program can have is refused as well", async () => {
  await expect(open("a\0b")).rejects.toThrow("without null bytes");
});

describe("a namespace", () => {
  beforeEach(needs("root", "netns"));

  test("is let go of, also when its holder was killed meanwhile", async () => {
    await using netns = await createNetns();
    const context = await open(netns.path);
    const [holder, ...others] = await expect.poll(holders).toHaveLength(1).then(holders);
    expect(others).toEqual([]);
    signalProcess(holder, "SIGKILL");
    await expect.poll(holders).toEqual([]);
    await context[Symbol.asyncDispose]();
  });

  test("is where programs run, and a missing program stays one", async () => {
    await using netns = await createNetns();
    await using context = await open(netns.path);
    const inside = (await netns.must("readlink /proc/self/ns/net")).trim();
    expect((await context.run({ program: "readlink", args: ["/proc/self/ns/net"] })).stdout.trim()).toBe(inside);
    expect(await context.run({ program: "no-such-program", args: [] })).toMatchObject({ missing: true });
  });
});
