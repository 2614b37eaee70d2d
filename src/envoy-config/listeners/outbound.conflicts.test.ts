import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entry, NONE, outbound } from "../../../test/support/discovery/listeners.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";

/** Two services without address on port 5000: `tcp` and `http` are where such calls go. */
describe("services on one address and port", () => {
  test.each([
    { first: "HTTP", second: "HTTP", http: "http 5000", tcp: "tcp PassthroughCluster", conflicts: 0 },
    { first: "HTTP", second: "TCP", http: "http 5000", tcp: "tcp outbound|5000||b.example", conflicts: 0 },
    { first: "TCP", second: "HTTP", http: "http 5000", tcp: "tcp outbound|5000||a.example", conflicts: 0 },
    { first: "TCP", second: "", http: "http 5000", tcp: "tcp outbound|5000||a.example", conflicts: 1 },
    { first: "", second: "TCP", http: "http 5000", tcp: "tcp outbound|5000||a.example", conflicts: 1 },
    { first: "HTTP", second: "", http: "http 5000", tcp: "tcp PassthroughCluster", conflicts: 0 },
    { first: "", second: "HTTP", http: "http 5000", tcp: "tcp outbound|5000||a.example", conflicts: 0 },
    {
      first: "TCP",
      second: "TCP",
      http: "tcp outbound|5000||a.example",
      tcp: "tcp outbound|5000||a.example",
      conflicts: 1,
    },
    { first: "TLS", second: "HTTP", http: "http 5000", tcp: "tcp PassthroughCluster", conflicts: 0 },
    {
      first: "TLS",
      second: "TCP",
      http: "tcp outbound|5000||b.example",
      tcp: "tcp outbound|5000||b.example",
      conflicts: 0,
    },
  ])("$first, then $second", ({ first, second, http, tcp, conflicts }) => {
    const { call, ...found } = outbound([entry("a", `5000/${first}`), entry("b", `5000/${second}`)]);
    expect(call("0.0.0.0_5000", { speaks: "http" })).toBe(http);
    expect(call("0.0.0.0_5000")).toBe(tcp);
    expect(found.conflicts).toHaveLength(conflicts);
  });

  test("the older one is served, and the conflict is reported", () => {
    const { call, conflicts } = outbound([
      entry("a", "5000/TCP", { created: 200 }),
      entry("b", "5000/TCP", { created: 100 }),
    ]);
    expect(call("0.0.0.0_5000")).toBe("tcp outbound|5000||b.example");
    expect(conflicts).toEqual([
      { kind: "outbound-tcp", listener: "0.0.0.0_5000", winner: "b.example", dropped: "a.example" },
    ]);
  });

  test.each([
    { first: "Mongo", second: "HTTP" },
    { first: "MySQL", second: "TCP" },
    { first: "TCP", second: "Mongo" },
    { first: "Mongo", second: "MySQL" },
    { first: "MySQL", second: "" },
  ])("$second does not join $first: in one of them the server speaks first", ({ first, second }) => {
    const { call, conflicts } = outbound([entry("a", `5000/${first}`), entry("b", `5000/${second}`)]);
    expect(call("0.0.0.0_5000", { speaks: "nothing" })).toBe("tcp outbound|5000||a.example");
    expect(conflicts).toMatchObject([{ kind: "server-first", winner: "a.example", dropped: "b.example" }]);
  });

  test("ranges of addresses share a listener; the same range is a conflict, however it is written", () => {
    const { call, conflicts } = outbound([
      entry("a", "5000/TCP", { addresses: ["10.1.0.0/16"] }),
      entry("b", "5000/TCP", { addresses: ["10.2.0.0/16", "10.1.2.3/16"] }),
    ]);
    expect(call("0.0.0.0_5000", { address: "10.1.9.9" })).toBe("tcp outbound|5000||a.example");
    expect(call("0.0.0.0_5000", { address: "10.2.9.9" })).toBe("tcp outbound|5000||b.example");
    expect(call("0.0.0.0_5000", { address: "10.3.9.9" })).toBe("tcp PassthroughCluster");
    expect(conflicts).toHaveLength(1);
  });
});

describe("ports that the proxy has", () => {
  test.each([15001, 15006, 15021, 15090])("%i: no listener for every address", (port) => {
    const { names, conflicts } = outbound([entry("a", `${port}/HTTP`), entry("b", `${port}/TCP`)]);
    expect(names).toEqual(["virtualOutbound"]);
    expect(conflicts).toMatchObject([{ kind: "reserved-port", listener: `0.0.0.0_${port}` }]);
  });

  test("a service's own address is in no other's way", () => {
    expect(outbound([entry("a", "15001/TCP", { addresses: ["10.96.0.1"] })]).names).toContain("10.96.0.1_15001");
  });

  test("no bound listener", () => {
    expect(outbound([entry("a", "15090/TCP")], NONE)).toMatchObject({
      names: [],
      conflicts: [{ kind: "reserved-port" }],
    });
  });

  test("without privileges ports below 1024 are not bound, and still served where they need no binding", () => {
    const services = [entry("a", "80/HTTP 8080/HTTP")];
    const bound = outbound(services, { node: { metadata: { INTERCEPTION_MODE: "NONE", UNPRIVILEGED_POD: "true" } } });
    expect(bound).toMatchObject({ names: ["127.0.0.1_8080"], conflicts: [{ kind: "privileged-port" }] });
    expect(outbound(services, { node: { metadata: { UNPRIVILEGED_POD: "true" } } }).names).toContain("0.0.0.0_80");
  });
});

const PROTOCOLS = ["HTTP", "GRPC", "TCP", "TLS", "HTTPS", "Mongo", "MySQL", ""];
const ADDRESSES = ["10.96.0.1", "10.96.0.2", "10.97.0.0/16", "10.97.1.0/16", "2001:db8::1"];
const SERVICES = fc.array(
  fc.record({
    ports: fc.uniqueArray(fc.tuple(fc.constantFrom(80, 443, 15001), fc.constantFrom(...PROTOCOLS)), {
      minLength: 1,
      maxLength: 3,
      selector: ([port]) => port,
    }),
    addresses: fc.subarray(ADDRESSES),
    resolution: fc.constantFrom("STATIC" as const, "NONE" as const),
  }),
  { maxLength: 6 },
);
const NODES = fc.record({
  INTERCEPTION_MODE: fc.constantFrom("REDIRECT", "NONE", "TPROXY"),
  INSTANCE_IPS: fc.constantFrom("10.10.0.11", "2001:db8::11", "10.10.0.11,2001:db8::11"),
  HTTP_PROXY_PORT: fc.constantFrom("", "443"),
});

test("for any services, no address has two listeners and no listener two chains with one match", () => {
  fc.assert(
    fc.property(SERVICES, NODES, (services, metadata) => {
      const objects = services.map(({ ports, ...given }, index) =>
        entry(`s${index}`, ports.map(([port, protocol]) => `${port}/${protocol}`).join(" "), given),
      );
      const { listeners } = outbound(objects, { node: { metadata } });
      const places = listeners.flatMap(placesOf);
      expect(places).toEqual([...new Set(places)]);
      for (const { filterChains = [] } of listeners) {
        const matches = filterChains.map(({ filterChainMatch = {} }) => JSON.stringify(filterChainMatch));
        expect(matches).toEqual([...new Set(matches)]);
        expect(matches.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 60 },
  );
});

function placesOf({ address, additionalAddresses = [] }: Listener): readonly string[] {
  return [{ address }, ...additionalAddresses].map((place) => JSON.stringify(place.address));
}
