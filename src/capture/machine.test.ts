import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "./core/settings.ts";
import { ipv4Addresses, ipv6Addresses, localAddresses, machineFacts, ownerNames } from "./machine.ts";

const folder = mkdtempSync(join(tmpdir(), "capture-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FIB_TRIE = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     |-- 10.0.0.0
        /24 link UNICAST
     |-- 10.0.0.10
        /32 host LOCAL
Local:
     |-- 10.0.0.10
        /32 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
`;
const IF_INET6 =
  "00000000000000000000000000000001 01 80 10 80       lo\n20010db8000000000000000000000010 02 40 00 80     eth0\n";

test("local addresses are read from the kernel's tables, IPv4 first, each once", () => {
  writeFileSync(join(folder, "fib_trie"), FIB_TRIE);
  writeFileSync(join(folder, "if_inet6"), IF_INET6);
  expect(localAddresses(folder)).toEqual(["10.0.0.10", "127.0.0.1", "::1", "2001:db8::10"]);
  expect(ipv4Addresses("")).toEqual([]);
  expect(ipv6Addresses("nonsense\n")).toEqual([]);
});

test("where the kernel has no table the runtime's list stands in, for that IP version alone", () => {
  expect(localAddresses(join(folder, "nowhere"))).toContain("127.0.0.1");
  const partly = mkdtempSync(join(folder, "partly-"));
  writeFileSync(join(partly, "if_inet6"), IF_INET6);
  const found = localAddresses(partly);
  expect(found).toContain("127.0.0.1");
  expect(found.slice(-2)).toEqual(["::1", "2001:db8::10"]);
});

test("users, groups and resolvers come from their files", async () => {
  const files = {
    procNet: folder,
    resolvConf: join(folder, "resolv"),
    passwd: join(folder, "passwd"),
    group: join(folder, "group"),
  };
  writeFileSync(files.passwd, "root:x:0:0::/:/bin/sh\nistio-proxy:x:1337:1337::/:/bin/sh\n");
  writeFileSync(files.group, "java:x:2001:\n");
  const facts = machineFacts(files);
  expect(facts.userId("istio-proxy")).toBe("1337");
  expect(facts.userId("nobody")).toBeUndefined();
  expect(() => facts.resolvConf()).toThrow(`failed to load ${files.resolvConf}`);
  const asked: string[] = [];
  const names = await ownerNames(
    { ...DEFAULT_SETTINGS, proxyUid: "istio-proxy,3", ownerGroupsExclude: "java,ldap,7" },
    files,
    async ({ args }) => {
      asked.push(args.join(" "));
      return { code: 0, stdout: "ldap:x:5000:\n", stderr: "" };
    },
  );
  expect(names).toEqual({
    users: new Map([["istio-proxy", "1337"]]),
    groups: new Map([
      ["java", "2001"],
      ["ldap", "5000"],
    ]),
  });
  expect(asked).toEqual(["group ldap"]);
});
