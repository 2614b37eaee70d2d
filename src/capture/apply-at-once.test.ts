import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NO_NAMES } from "../../test/support/capture/owner-names.ts";
import { silentLogger } from "../base/logger.ts";
import { applyAtOnce } from "./apply-iptables.ts";
import type { ApplyOptions } from "./apply-options.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./core/settings.ts";

/** Records what would be run; every program succeeds unless an answer is given. */
function given(change: Partial<ApplyOptions> = {}, code = 0, legacyTables = "") {
  const procNet = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(procNet, { recursive: true, force: true }));
  writeFileSync(join(procNet, "ip_tables_names"), legacyTables);
  const calls: { readonly command: string; readonly input: string }[] = [];
  const options: ApplyOptions = {
    settings: { ...DEFAULT_SETTINGS, inboundPortsInclude: "*" },
    options: DEFAULT_OPTIONS,
    names: NO_NAMES,
    log: silentLogger,
    context: {
      procNet,
      lockFile: undefined,
      run: async ({ program, args, input = "" }) => {
        calls.push({ command: [program, ...args].join(" "), input });
        return { code, stdout: "", stderr: "" };
      },
      [Symbol.asyncDispose]: async () => undefined,
    },
    hasNative: async () => false,
    ...change,
  };
  return { options, calls };
}

test("rules of one table are written by one program, and can be taken back", async () => {
  const { options, calls } = given();
  const outcome = await applyAtOnce(options);
  expect(outcome?.changed).toBe(true);
  expect(calls.map(({ command }) => command)).toEqual(["iptables-nft-restore --noflush"]);
  expect(calls[0]?.input).toMatch(/^\* nat\n-N ISTIO_INBOUND\n[^*]*COMMIT\n$/);
  await outcome?.undo();
  expect(calls[1]?.input).toContain(
    "-D PREROUTING -p tcp -j ISTIO_INBOUND\n-D OUTPUT -j ISTIO_OUTPUT\n-F ISTIO_INBOUND\n",
  );
});

test("a refusal leaves the decision to the careful way", async () => {
  expect(await applyAtOnce(given({}, 1).options)).toBeUndefined();
});

test.each([
  { what: "IPv6", change: { settings: { ...DEFAULT_SETTINGS, ipv6: true } } },
  { what: "TPROXY", change: { settings: { ...DEFAULT_SETTINGS, interceptionMode: "TPROXY" } } },
  { what: "DNS", change: { settings: { ...DEFAULT_SETTINGS, redirectDns: true } } },
  { what: "mode NONE", change: { settings: { ...DEFAULT_SETTINGS, interceptionMode: "NONE" } } },
  { what: "--reconcile", change: { options: { ...DEFAULT_OPTIONS, reconcile: true } } },
  { what: "--force-apply", change: { options: { ...DEFAULT_OPTIONS, forceApply: true } } },
  { what: "a forced legacy program", change: { options: { ...DEFAULT_OPTIONS, forceBinary: "legacy" } } },
])("$what goes the careful way without running anything", async ({ change }) => {
  const { options, calls } = given(change);
  expect(await applyAtOnce(options)).toBeUndefined();
  expect(calls).toEqual([]);
});

test("legacy tables, or native rules of ours, have to be looked at first, regardless of the program that is asked for", async () => {
  const nft = { ...DEFAULT_OPTIONS, forceBinary: "nft" };
  for (const forced of [{}, { options: nft }]) {
    for (const { options, calls } of [given(forced, 0, "nat\n"), given({ ...forced, hasNative: async () => true })]) {
      expect(await applyAtOnce(options)).toBeUndefined();
      expect(calls).toEqual([]);
    }
  }
  expect(await applyAtOnce(given({ options: nft }).options)).toMatchObject({ changed: true });
});
