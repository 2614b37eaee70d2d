import { expect, test } from "vitest";
import { cleanCommands } from "./compat/clean-commands.ts";
import { dryRun } from "./dry-run.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./settings.ts";

const record = (settings: Partial<typeof DEFAULT_SETTINGS>, options: Partial<typeof DEFAULT_OPTIONS> = {}) =>
  dryRun({ ...DEFAULT_SETTINGS, ...settings }, { ...DEFAULT_OPTIONS, ...options }).record;

test("today's record is both saves, the texts, and a save per IP version in use", () => {
  const lines = record({ ipv6: true });
  expect(lines.slice(0, 3)).toEqual(["iptables-save", "ip6tables-save", "* nat"]);
  expect(lines.slice(-2)).toEqual(["iptables-save", "ip6tables-save"]);
  expect(lines.filter((line) => line === "COMMIT")).toHaveLength(2);
});

test("cleaning lists deletes in reverse, then the chains", () => {
  const lines = record({}, { cleanupOnly: true });
  expect(lines.slice(2, 4)).toEqual([
    "iptables -t nat -D ISTIO_OUTPUT -o lo ! -d 127.0.0.1/32 -p tcp ! --dport 15008 -m owner --gid-owner 1337 -j ISTIO_IN_REDIRECT",
    "iptables -t nat -D ISTIO_OUTPUT -o lo ! -d 127.0.0.1/32 -p tcp ! --dport 15008 -m owner --uid-owner 1337 -j ISTIO_IN_REDIRECT",
  ]);
  expect(lines.at(-2)).toBe("iptables -t nat -X ISTIO_INBOUND");
});

test("1.20 lists single commands on request, 1.7 names its rules files", () => {
  expect(record({ generation: "1.20" }, { restoreFormat: false })[0]).toBe("iptables -t nat -N ISTIO_INBOUND");
  expect(record({ generation: "1.20" })).toEqual([
    "iptables-restore --noflush",
    "ip6tables-restore --noflush",
    "iptables-save",
  ]);
  expect(dryRun({ ...DEFAULT_SETTINGS, generation: "1.20" }, DEFAULT_OPTIONS).file[0]).toBe("* nat");
  expect(record({ generation: "1.7" })).toEqual([
    "iptables-restore --noflush <rules file>",
    "ip6tables-restore --noflush <rules file>",
    "iptables-save ",
  ]);
  expect(record({ generation: "1.7" }, { restoreFormat: false })[0]).toBe("iptables -t nat -N ISTIO_INBOUND");
});

test("nftables shows its transaction, or the removal of its three tables", () => {
  expect(record({ nativeNftables: true }).slice(0, 2)).toEqual([
    "add table inet istio-proxy-nat",
    "flush table inet istio-proxy-nat",
  ]);
  expect(record({ nativeNftables: true }, { cleanupOnly: true })).toEqual([
    "add table inet istio-proxy-nat",
    "delete table inet istio-proxy-nat",
    "add table inet istio-proxy-mangle",
    "delete table inet istio-proxy-mangle",
    "add table inet istio-proxy-raw",
    "delete table inet istio-proxy-raw",
  ]);
});

test("the old clean command knows DNS and TPROXY only in 1.20", () => {
  const given = { ...DEFAULT_SETTINGS, redirectDns: true, interceptionMode: "TPROXY" };
  expect(cleanCommands({ ...given, generation: "1.7" })).toHaveLength(36);
  expect(cleanCommands({ ...given, generation: "1.20" }).length).toBeGreaterThan(36);
});
