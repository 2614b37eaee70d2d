import { describe, expect, test } from "vitest";
import { planListeners } from "./listen-plan.ts";

describe("where to listen", () => {
  test.each([
    { listen: "localhost:15053", servers: ["10.0.0.10"], hosts: ["127.0.0.1"] },
    { listen: "localhost:15053", servers: ["fd00::10"], hosts: ["::1"] },
    { listen: "localhost:15053", servers: ["fd00::10", "10.0.0.10"], hosts: ["127.0.0.1", "::1"] },
    { listen: "localhost:15053", servers: [], hosts: ["localhost"] },
    { listen: "localhost:15053", servers: ["dns.local"], hosts: ["localhost"] },
    { listen: "", servers: ["10.0.0.10"], hosts: ["127.0.0.1"] },
    { listen: "10.1.2.3:15053", servers: ["fd00::10"], hosts: ["10.1.2.3"] },
    { listen: "[::1]:15053", servers: ["10.0.0.10"], hosts: ["::1"] },
    { listen: ":15053", servers: [], hosts: [""] },
  ])("'$listen' with servers $servers: $hosts", ({ listen, servers, hosts }) => {
    const plan = planListeners(listen, false, servers);
    expect(plan).toMatchObject({ addresses: hosts.map((host) => ({ host, port: 15053 })), respondsBeforeSync: false });
  });

  test("port 53 is for root, which then answers before the first table", () => {
    expect(planListeners("127.0.0.1:53", true, [])).toEqual({
      addresses: [{ host: "127.0.0.1", port: 53 }],
      respondsBeforeSync: true,
      fellBack: false,
    });
  });

  test("others fall back to the default address", () => {
    expect(planListeners("127.0.0.1:53", false, ["10.0.0.10"])).toEqual({
      addresses: [{ host: "127.0.0.1", port: 15053 }],
      respondsBeforeSync: false,
      fellBack: true,
    });
  });

  test("a port that only ends in 53 is not a port 53", () => {
    expect(planListeners("localhost:1053", true, [])).toMatchObject({ respondsBeforeSync: false });
  });
});

test.each([
  { listen: "foo", problem: "address foo: missing port in address" },
  { listen: "::1:5", problem: "address ::1:5: too many colons in address" },
  { listen: "[::1]", problem: "address [::1]: missing port in address" },
  { listen: "[::1", problem: "address [::1: missing ']' in address" },
  { listen: "[::1]5:5", problem: "address [::1]5:5: missing port in address" },
  { listen: "a:70000", problem: 'address a:70000: invalid port "70000"' },
  { listen: "a:domain", problem: 'address a:domain: invalid port "domain"' },
  { listen: "a:", problem: 'address a:: invalid port ""' },
])("'$listen' is refused: $problem", ({ listen, problem }) => {
  expect(planListeners(listen, false, [])).toEqual({ problem });
});
