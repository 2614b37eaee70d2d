import { beforeEach, expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { takeCaptureLock } from "./capture-lock.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./core/settings.ts";
import { type CaptureRun, cleanCapture, runCapture } from "./run-capture.ts";
import type { ProgramCall, ProgramResult } from "./run-program.ts";

const OK: ProgramResult = { code: 0, stdout: "", stderr: "" };
const SAVED = "*nat\n:OUTPUT ACCEPT [0:0]\n:ISTIO_OUTPUT - [0:0]\n-A OUTPUT -j ISTIO_OUTPUT\nCOMMIT\n";

const said: string[] = [];
beforeEach(() => void said.splice(0));

/** Programs by their first word or whole line; all others succeed and say nothing. */
function capture(answers: Readonly<Record<string, Partial<ProgramResult>>>, change: Partial<CaptureRun> = {}) {
  const calls: string[] = [];
  const run: CaptureRun = {
    settings: DEFAULT_SETTINGS,
    // Chosen, so that no legacy table of this machine's own network is looked at.
    options: { ...DEFAULT_OPTIONS, forceBinary: "nft" },
    env: {},
    log: { ...silentLogger, info: (text) => void said.push(text), warn: (text) => void said.push(text) },
    print: () => undefined,
    run: async ({ program, args }: ProgramCall) => {
      const line = [program, ...args].join(" ");
      calls.push(line);
      return { ...OK, ...(answers[line] ?? answers[program]) };
    },
    ...change,
  };
  return { run, calls };
}

test("what was seen before another command ended is looked at again", async () => {
  const held = await takeCaptureLock({ procNet: "/proc/self/net", log: silentLogger });
  const waiting = capture({}, { hasNative: Promise.resolve(false) });
  const done = runCapture(waiting.run);
  await expect.poll(() => said.join()).toContain("another traffic capture command is changing this network");
  await held[Symbol.asyncDispose]();
  await done;
  expect(waiting.calls).toContain("nft list tables inet");
});

test("cleaning goes on after each failure and reports all of them; routes of rules that stay are not removed", async () => {
  const { run, calls } = capture({
    "nft list tables inet": { stdout: "table inet istio-proxy-nat\n" },
    "nft -f -": { code: 1, stderr: "busy" },
    "iptables-nft-save": { stdout: SAVED },
    "iptables-nft-restore": { code: 1, stderr: "no rights" },
    "ip6tables-nft-save": { stdout: SAVED },
    "ip -4 -N rule list": { stdout: "32765:\tfrom all fwmark 0x539 lookup 133\n" },
    "ip -4 route list table 133": { stdout: "local default dev lo scope host\n" },
    "ip -4 rule del fwmark 1337 lookup 133": { code: 2, stderr: "RTNETLINK answers: Operation not permitted" },
  });
  await expect(cleanCapture(run)).rejects.toMatchObject({
    code: "clean-failed",
    message: expect.stringMatching(
      /removed: native nftables: .*busy.*; iptables-nft: .*no rights.*; failed to execute ip -4 rule del .*not permitted/s,
    ),
  });
  expect(calls).toContain("ip6tables-nft-restore --noflush");
  expect(calls).not.toContain("ip -6 addr del ::6/128 dev lo");
  expect(calls).toContain("ip -4 route del local default dev lo table 133");
});

test("where nothing is found nothing is changed, which is said", async () => {
  const { run, calls } = capture({});
  expect(await cleanCapture(run)).toBe(false);
  expect(said.at(-1)).toBe("Nothing to remove, nothing was changed");
  expect(calls.filter((line) => /restore|-f -| del /.test(line))).toEqual([]);
});

test.each([
  { generation: "1.6", shown: true },
  { generation: "1.7", shown: true },
  { generation: "1.20", shown: false },
  { generation: "master", shown: false },
] as const)(
  "$generation shows rules and final state without being asked for: $shown",
  async ({ generation, shown }) => {
    const { run } = capture(
      { "iptables-nft-save": { stdout: "# state of nat\n" } },
      { settings: { ...DEFAULT_SETTINGS, generation }, hasNative: Promise.resolve(false) },
    );
    await runCapture(run);
    const text = said.join("\n");
    expect(text.includes("Running iptables restore with: iptables-nft-restore")).toBe(shown);
    expect(text.includes("Final iptables state (IPv4):\n# state of nat")).toBe(shown);
  },
);
