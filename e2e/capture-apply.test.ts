import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { goldenPath, needsGoldenData } from "../test/conformance/golden-data.ts";
import { needs } from "../test/support/needs.ts";
import { BACKENDS, istioIptables } from "../test/support/netns/capture.ts";
import { createMachine, loadableCases, roundTrip } from "../test/support/netns/golden.ts";
import { createNetns } from "../test/support/netns/netns.ts";

/** One of each kind; the slow suite takes all of them. */
const SAMPLE = ["doc-default-today", "tproxy", "ipv6-ipnets"];

describe("dry run", () => {
  beforeEach(needs("root", "netns"));
  test("golden data is present", (context) => needsGoldenData(context, goldenPath("iptables")));

  test.each(loadableCases([...SAMPLE, "dns-uid-gid"]))(
    "$name: the file holds the golden record, and nothing was run",
    async (entry) => {
      await using machine = await createMachine(entry);
      const folder = mkdtempSync(join(tmpdir(), "capture-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const file = join(folder, "record");
      const result = await istioIptables(machine, [...entry.args, "--dry-run"], {
        ...entry.env,
        DRY_RUN_FILE_PATH: file,
      });
      expect(result).toMatchObject({ code: 0 });
      const lines = readFileSync(file, "utf8").split("\n");
      expect(lines).toEqual([...(entry.expected.executed as readonly string[]), ""]);
      expect(await machine.must("nft list ruleset")).toBe("");
    },
  );
});

describe.each(BACKENDS)("$backend", ({ flags }) => {
  beforeEach(needs("root", "netns", "iptables", "nft"));
  test("golden data is present", (context) => needsGoldenData(context, goldenPath("iptables")));

  test.each(loadableCases(SAMPLE))("$name is applied as written, once, and removed without a trace", async (entry) => {
    expect(await roundTrip(entry, flags)).toEqual([]);
  });
});

describe("what a run shows", () => {
  beforeEach(needs("root", "netns", "iptables"));

  test.each(["1.6", "1.7"])(
    "%s shows its commands, its rules and the state they led to without being asked",
    async (generation) => {
      await using netns = await createNetns();
      const { code, stdout, stderr } = await istioIptables(netns, ["-u", "1337", "-i", "*", "-b", "*"], {
        PILOT_AGENT_GENERATION: generation,
      });
      expect(code).toBe(0);
      const shown = stdout + stderr;
      expect(shown).toMatch(/\tinfo\tRunning command: iptables\S*-restore/);
      expect(shown).toMatch(/^-A ISTIO_IN_REDIRECT -p tcp -j REDIRECT --to-ports? 15006$/m);
      expect(shown).toMatch(/\tinfo\tFinal iptables state/);
    },
  );
});
