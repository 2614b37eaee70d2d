import { expect, test } from "vitest";
import { chooseFamily, deriveSettings, type MachineFacts, parseResolvers, usableAddresses } from "./derive-settings.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

const facts = (overrides: Partial<MachineFacts> = {}): MachineFacts => ({
  userId: () => undefined,
  localAddresses: () => ["10.0.0.10"],
  resolvConf: () => {
    throw new Error("not asked for");
  },
  ...overrides,
});

const given: CaptureSettings = { ...DEFAULT_SETTINGS, proxyUid: "", proxyGid: "" };

test.each([
  { addresses: ["127.0.0.1", "1.2.3.5"], dualStack: false, ipv6: false },
  { addresses: ["::1", "2222:3333::1"], dualStack: false, ipv6: true },
  { addresses: ["::1", "127.0.0.1", "1.2.3.5", "2222:3333::1"], dualStack: false, ipv6: false },
  { addresses: ["::1", "127.0.0.1", "1.2.3.5", "2222:3333::1"], dualStack: true, ipv6: true },
  { addresses: ["1.2.3.5"], dualStack: true, ipv6: false },
  { addresses: ["169.254.1.1", "fe80::1", "2222::1"], dualStack: false, ipv6: true },
  { addresses: ["::ffff:1.2.3.5", "2222::1"], dualStack: false, ipv6: false },
])("addresses $addresses with dual stack $dualStack give IPv6 $ipv6", ({ addresses, dualStack, ipv6 }) => {
  expect(chooseFamily(usableAddresses(addresses), dualStack).ipv6).toBe(ipv6);
});

test("the proxy's ids come from its user, then from 1337; the group follows the user", () => {
  const known = deriveSettings(
    given,
    "istio-proxy",
    facts({ userId: (name) => (name === "istio-proxy" ? "999" : undefined) }),
  );
  expect(known.settings).toMatchObject({ proxyUid: "999", proxyGid: "999" });
  expect(deriveSettings(given, "nobody", facts()).settings).toMatchObject({ proxyUid: "1337", proxyGid: "1337" });
  expect(deriveSettings({ ...given, proxyUid: "3,4" }, "x", facts()).settings.proxyGid).toBe("3,4");
  expect(deriveSettings({ ...given, generation: "1.7" }, "x", facts()).settings.proxyUid).toBe("1337,0");
});

test("a machine with loopback only has no valid address", () => {
  const lonely = facts({ localAddresses: () => ["127.0.0.1", "::1"] });
  expect(() => deriveSettings(given, "x", lonely)).toThrow("no valid local IP address found");
});

test("IPv6 addresses that are not captured are warned about", () => {
  const both = facts({ localAddresses: () => ["10.0.0.10", "2001:db8::10"] });
  expect(deriveSettings(given, "x", both).warnings[0]).toContain("IPv6 traffic bypasses the proxy");
  expect(deriveSettings({ ...given, dualStack: true }, "x", both).warnings).toEqual([]);
});

test("resolvers are read only for DNS capture by resolver", () => {
  const resolvConf = () =>
    "search local\nnameserver 10.96.0.10\nnameserver  fd00::a # comment\nnameserver fe80::1%eth0\nnameserver x\n";
  const { settings } = deriveSettings({ ...given, redirectDns: true }, "x", facts({ resolvConf }));
  expect(settings).toMatchObject({ dnsServersV4: ["10.96.0.10"], dnsServersV6: ["fd00::a"] });
  expect(
    deriveSettings({ ...given, redirectDns: true, captureAllDns: true }, "x", facts()).settings.dnsServersV4,
  ).toEqual([]);
  expect(() => deriveSettings({ ...given, redirectDns: true }, "x", facts())).toThrow("not asked for");
});

test("a mapped resolver counts as IPv6, and text is canonical", () => {
  expect(parseResolvers("nameserver ::ffff:1.2.3.4\nnameserver 2001:DB8::1\n")).toEqual({
    v4: [],
    v6: ["::ffff:1.2.3.4", "2001:db8::1"],
  });
});

test("a resolver inside IPv6 prints with dots, one with a zone is left out", () => {
  const text = "nameserver ::127.0.0.53\nnameserver fe80::1%eth0\nnameserver ::1:0:0\n";
  expect(parseResolvers(text)).toEqual({ v4: [], v6: ["::127.0.0.53", "::1:0:0"] });
});
