import { isIP } from "node:net";
import { expect, test } from "vitest";
import { compileIpCheck } from "./compile-ip-check.ts";

test("addresses are distinguished from names as before", () => {
  compileIpCheck();
  const hosts = [
    "localhost",
    "istiod.istio-system.svc",
    "1.2.3.4",
    "1.2.3.400",
    "::1",
    "fe80::1%eth0",
    "1::2::3",
    "::ffff:1.2.3.4",
  ];
  expect(hosts.map((host) => isIP(host))).toEqual([0, 0, 4, 0, 6, 6, 0, 6]);
});
