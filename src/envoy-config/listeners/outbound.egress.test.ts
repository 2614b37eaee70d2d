import { describe, expect, test } from "vitest";
import { entry, NONE, outbound } from "../../../test/support/discovery/listeners.ts";
import type { TestObject } from "../../../test/support/mesh-model/test-objects.ts";

const sidecar = (egress: readonly object[], ingress: readonly object[] = []): TestObject => ({
  kind: "Sidecar",
  name: "own",
  spec: { egress, ...(ingress.length > 0 && { ingress }) },
});
const port = (number: number, protocol: string) => ({ number, protocol, name: "p" });
const EVERYTHING = { hosts: ["*/*"] };
const A = entry("a", "80/HTTP 9000/TCP", { addresses: ["10.96.0.1"] });
const B = entry("b", "9000/TCP", { addresses: ["10.96.0.2"], namespace: "prod" });

describe("egress listeners of a Sidecar object", () => {
  test("a listener with port has only that port, of its own hosts", () => {
    const { names, conflicts } = outbound([A, B, sidecar([{ port: port(9000, "TCP"), hosts: ["prod/*"] }])]);
    expect(names).toEqual(["10.96.0.2_9000", "virtualOutbound"]);
    expect(conflicts).toEqual([]);
  });

  test("the port's protocol is what the object says", () => {
    const { call } = outbound([A, sidecar([{ port: port(9000, "HTTP"), hosts: ["./*"] }])]);
    expect(call("0.0.0.0_9000", { speaks: "http" })).toBe("http 9000");
  });

  test("the listener without port adds nothing to ports that are there, and says nothing about it", () => {
    const other = entry("c", "80/HTTP 9000/TCP", { addresses: ["10.96.0.2"] });
    const { names, call, conflicts } = outbound([
      A,
      B,
      other,
      sidecar([{ port: port(9000, "TCP"), hosts: ["prod/*"] }, EVERYTHING]),
    ]);
    expect(names).toEqual(["10.96.0.2_9000", "0.0.0.0_80", "10.96.0.1_9000", "virtualOutbound"]);
    expect(call("10.96.0.2_9000")).toBe("tcp outbound|9000||b.example");
    expect(conflicts).toEqual([]);
  });

  test.each([
    { what: "an address", egress: { bind: "127.0.0.21" }, isBound: false, names: ["127.0.0.21_80", "127.0.0.21_9000"] },
    {
      what: "an address, bound",
      egress: { bind: "127.0.0.21", captureMode: "NONE" },
      isBound: true,
      names: ["127.0.0.21_80", "127.0.0.21_9000"],
    },
    {
      what: "no address, bound",
      egress: { captureMode: "NONE" },
      isBound: true,
      names: ["127.0.0.1_80", "127.0.0.1_9000"],
    },
  ])("$what", ({ egress, isBound, names }) => {
    const found = outbound([A, sidecar([{ ...egress, hosts: ["./*"] }])]);
    expect(found.names).toEqual([...names, "virtualOutbound"]);
    for (const name of names) expect(found.find(name).bindToPort).toBe(isBound ? undefined : false);
  });

  test("a unix socket is bound, and its routes are found by its path", () => {
    const bind = "unix:///run/out.sock";
    const { find, call } = outbound([A, sidecar([{ bind, port: port(0, "HTTP"), hosts: ["./*"] }])]);
    const name = `${bind}_0`;
    expect(find(name)).toMatchObject({ address: { pipe: { path: "/run/out.sock" } } });
    expect(find(name)).not.toHaveProperty("bindToPort");
    expect(call(name)).toBe(`http ${bind}`);
  });

  test("HTTP_PROXY takes requests for every service, regardless of its port, and looks for nothing else", () => {
    const egress = { port: port(3128, "HTTP_PROXY"), bind: "127.0.0.1", captureMode: "NONE", hosts: ["./*"] };
    const { find, call } = outbound([A, sidecar([egress])]);
    expect(call("127.0.0.1_3128")).toBe("http 3128");
    expect(find("127.0.0.1_3128").listenerFilters).toBeUndefined();
  });

  test("what the object binds for the workload itself is not bound again", () => {
    const ingress = { port: port(80, "HTTP"), bind: "127.0.0.1", defaultEndpoint: "127.0.0.1:8080" };
    const { names, conflicts } = outbound([A, sidecar([EVERYTHING], [ingress])], NONE);
    expect(names).toEqual(["127.0.0.1_9000"]);
    expect(conflicts).toMatchObject([{ kind: "address", listener: "127.0.0.1_80" }]);
  });
});

test("bound to every address, TLS services without address are distinguished by server name", () => {
  const site = entry("site", "443/TLS");
  const { call } = outbound([site, sidecar([{ bind: "0.0.0.0", hosts: ["./*"] }])]);
  expect(call("0.0.0.0_443", { speaks: "tls", sni: "site.example" })).toBe("tcp outbound|443||site.example");
  expect(call("0.0.0.0_443", { speaks: "tls", sni: "other.example" })).toBe("tcp PassthroughCluster");
});
