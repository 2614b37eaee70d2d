import { expect, test } from "vitest";
import { checkRealm } from "../oci/authorize.ts";
import { forbiddenAddresses, isInternalAddress, isPrivateIpv4 } from "./address-rules.ts";
import { guardedLookup, refuseLiteral } from "./guarded-lookup.ts";

const standard = forbiddenAddresses([]);
const custom = forbiddenAddresses(["10.1.0.0/16", "2001:db8::/32"]);

test.each([
  "169.254.169.254",
  "169.254.0.1",
  "224.0.0.251",
  "100.100.100.200",
  "fe80::1",
  "fe80::1%eth0",
  "[fe80::1]",
  "febf::1",
  "ff02::fb",
  "fd00:ec2::254",
  "fd00:ec2:ffff::1",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b::169.254.169.254",
  "64:ff9b:1:a9fe:a9:fe00::",
  "::169.254.169.254",
  "[::a9fe:a9fe]",
  "::ffff:0:169.254.169.254",
  "2002:a9fe:a9fe::1",
  "2001:0:a9fe:a9fe::1",
  "2001:0:102:304::5601:5601",
  "2001:db8::5efe:169.254.169.254",
])("%s is never dialled", (address) => {
  expect(standard(address)).toBe(true);
});

test.each([
  "10.0.0.1",
  "127.0.0.1",
  "8.8.8.8",
  "192.168.0.1",
  "::1",
  "fd00::1",
  "fec0::1",
  "100.100.100.201",
  "224.0.1.1",
  "ff05::1",
  "::ffff:10.0.0.1",
  "::8.8.8.8",
  "2002:808:808::1",
  "2606:4700::1",
])("%s may be dialled", (address) => {
  expect(standard(address)).toBe(false);
});

test("networks of the operator's list are blocked too, in every spelling", () => {
  expect(["10.1.2.3", "::ffff:10.1.2.3", "2001:db8:1::1"].map(custom)).toEqual([true, true, true]);
  expect(["10.2.0.1", "2001:db9::1"].map(custom)).toEqual([false, false]);
});

test("internal addresses are distinguished from public ones", () => {
  expect(["10.0.0.1", "fc00::1", "0.0.0.0", "::", "8.8.8.8", "2606:4700::1"].map(isInternalAddress)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

const lookup = (addresses: readonly string[], options: object) =>
  new Promise((done) => {
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    guardedLookup(standard, resolve)("name.test", options, (failure, found, family) =>
      done(failure === null ? (family === undefined ? found : [found, family]) : failure.message),
    );
  });

test("of a name's addresses only the allowed ones are dialled", async () => {
  expect(await lookup(["169.254.1.1", "10.0.0.1"], { all: true })).toEqual([{ address: "10.0.0.1", family: 4 }]);
  expect(await lookup(["169.254.1.1", "10.0.0.1"], {})).toEqual(["10.0.0.1", 4]);
  expect(await lookup(["fe80::1", "169.254.1.1"], { all: true })).toContain("not allowed");
  expect(await lookup(["::1", "10.0.0.1"], { family: 4 })).toEqual(["10.0.0.1", 4]);
  expect(await lookup([], {})).toContain("has no address");
});

test("a failing resolution is passed on", async () => {
  const failing = guardedLookup(standard, () => Promise.reject(new Error("ENOTFOUND")));
  const failure = await new Promise<string>((done) => failing("x", {}, (error) => done(error?.message ?? "")));
  expect(failure).toBe("ENOTFOUND");
});

test.each(["http://169.254.169.254/", "http://[fe80::1]/", "http://0xa9fea9fe/", "http://2852039166/"])(
  "a literal address is judged before the connection: %s",
  (url) => {
    expect(() => refuseLiteral(new URL(url), standard)).toThrow("not allowed");
  },
);

test.each(["https://auth.docker.io/token", "http://auth.example.com/token", "https://8.8.8.8/token"])(
  "the realm %s is fine",
  (realm) => {
    expect(checkRealm(realm).href).toContain("/token");
  },
);

test.each([
  "http://169.254.169.254/latest",
  "http://127.0.0.1/x",
  "http://127.1/x",
  "http://2130706433/x",
  "http://10.0.0.1/x",
  "http://172.16.0.1/x",
  "http://172.31.255.255/x",
  "http://192.168.1.1/x",
  "http://[::1]/x",
  "http://[::ffff:127.0.0.1]/x",
  "http://[fe80::1]/x",
  "http://[fc00::1]/x",
  "http://[fd00:ec2::254]/x",
  "http://localhost/x",
  "http://LOCALHOST./x",
  "http://a.localhost/x",
  "http://metadata.google.internal/x",
  "http://metadata.google.internal./x",
  "http://0.0.0.0/x",
  "file:///etc/passwd",
  "gopher://example.com/x",
  "dict://example.com/x",
  "not an address",
  "https://",
  "",
])("the realm %s is rejected", (realm) => {
  expect(() => checkRealm(realm)).toThrow("rejected unsafe bearer realm");
});

test.each([
  { address: "10.255.0.1", isPrivate: true },
  { address: "172.16.0.1", isPrivate: true },
  { address: "172.32.0.1", isPrivate: false },
  { address: "192.168.1.1", isPrivate: true },
  { address: "127.0.0.1", isPrivate: false },
  { address: "8.8.8.8", isPrivate: false },
  { address: "fd00::1", isPrivate: false },
  { address: "::ffff:10.0.0.1", isPrivate: true },
  { address: "2002:a00:1::1", isPrivate: false },
  { address: "registry.local", isPrivate: false },
])("a registry at $address is one of a private network: $isPrivate", ({ address, isPrivate }) => {
  expect(isPrivateIpv4(address)).toBe(isPrivate);
});
