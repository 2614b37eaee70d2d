import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildGeneralNames, parseGeneralNames, splitHosts } from "./general-names.ts";

test.each([
  { host: "spiffe://td/ns/a/sa/b", name: { kind: "uri", value: "spiffe://td/ns/a/sa/b" } },
  { host: "spiffe://td/ns//sa/", name: { kind: "uri", value: "spiffe://td/ns//sa/" } },
  { host: "istiod.istio-system.svc", name: { kind: "dns", value: "istiod.istio-system.svc" } },
  { host: "https://a", name: { kind: "dns", value: "https://a" } },
  { host: "10.1.2.3", name: { kind: "ip", value: "10.1.2.3" } },
  { host: "::ffff:10.1.2.3", name: { kind: "ip", value: "10.1.2.3" } },
  { host: "2001:db8::1", name: { kind: "ip", value: "2001:db8:0:0:0:0:0:1" } },
  { host: "::", name: { kind: "ip", value: "0:0:0:0:0:0:0:0" } },
  { host: "", name: { kind: "dns", value: "" } },
])("the host $host becomes a name of kind $name.kind", ({ host, name }) => {
  expect(parseGeneralNames(buildGeneralNames([host]))).toEqual([name]);
});

test("a comma in a service account makes a second name", () => {
  const names = parseGeneralNames(buildGeneralNames(splitHosts("spiffe://td/ns/n/sa/a,b")));
  expect(names).toEqual([
    { kind: "uri", value: "spiffe://td/ns/n/sa/a" },
    { kind: "dns", value: "b" },
  ]);
});

test("names of other kinds are seen, without a value", () => {
  expect(parseGeneralNames(Buffer.from("3004a4023000", "hex"))).toEqual([{ kind: "other", value: "" }]);
});

test("sixteen bytes come out of every IPv6 literal, four of those that carry IPv4", () => {
  const bytesOf = (literal: string) => buildGeneralNames([literal]).subarray(4);
  fc.assert(
    fc.property(fc.ipV6(), (literal) => {
      if (isIP(literal) === 6) expect([4, 16]).toContain(bytesOf(literal).length);
    }),
  );
  expect(bytesOf("fe80::1%eth0").toString("hex")).toBe("fe800000000000000000000000000001");
  expect(bytesOf("1:2:3:4:5:6:7:8").toString("hex")).toBe("00010002000300040005000600070008");
});
