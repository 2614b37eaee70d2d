import { describe, expect, test } from "vitest";
import { encodeAny } from "../protobuf/envoy/index.ts";
import { discoveryResponse } from "../protobuf/wire/discovery.ts";
import { createResourceSet, joinSets } from "../xds/resource-set.ts";
import { createRouteEncoder, encodedResource, encodeResource } from "./encoded-resource.ts";
import { createResourceGuard, onlyUnique, type ResourceProblem } from "./resource-problems.ts";

const cluster = (name: string, connectTimeout = "1s") =>
  encodeResource("envoy.config.cluster.v3.Cluster", name, { name, connectTimeout });

describe("a resource set", () => {
  test("its body is the resources of a DiscoveryResponse", () => {
    const set = createResourceSet([cluster("a"), cluster("b".repeat(300))]);
    const { resources } = discoveryResponse.decode(Buffer.concat(set.sotwBody));
    expect(resources.map(({ typeUrl }) => typeUrl)).toEqual(
      Array(2).fill("type.googleapis.com/envoy.config.cluster.v3.Cluster"),
    );
  });

  test("its version follows from names and contents, not from when it was made", () => {
    const version = (...resources: Parameters<typeof createResourceSet>[0]) => createResourceSet(resources).version;
    expect(version(cluster("a"), cluster("b"))).toBe(version(cluster("a"), cluster("b")));
    expect(version(cluster("a", "2s"))).not.toBe(version(cluster("a")));
    expect(version(cluster("a"))).not.toBe(version(cluster("a"), cluster("b")));
  });

  test("joined sets share the pieces of their parts", () => {
    const many = createResourceSet([cluster("a"), cluster("b")]);
    const own = createResourceSet([cluster("c")]);
    const joined = joinSets(many, own);
    expect(joined.resources.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(joined.sotwBody[0]).toBe(many.sotwBody[0]);
    expect(joined.parts).toEqual([many.resources, own.resources]);
    expect(joined.parts[0]).toBe(many.resources);
    expect(joined.get("c")).toBe(own.resources[0]);
    expect(joined.version).not.toBe(many.version);
  });

  test("joining with nothing is the set itself", () => {
    const set = createResourceSet([cluster("a")]);
    const empty = createResourceSet([]);
    expect(joinSets(set, empty)).toBe(set);
    expect(joinSets(empty, set)).toBe(set);
    expect(empty.sotwBody).toEqual([]);
  });
});

describe("the route encoder", () => {
  const hosts = Array.from({ length: 3 }, (_, index) => ({ name: `host-${index}`, domains: [`host-${index}`] }));

  test("writes what encoding the whole message writes", () => {
    const route = { name: "80", ignorePortInHostMatching: true, virtualHosts: hosts };
    const { ignorePortInHostMatching, name, virtualHosts } = route;
    const whole = encodeAny("envoy.config.route.v3.RouteConfiguration", {
      name,
      ignorePortInHostMatching,
      virtualHosts,
    });
    expect(createRouteEncoder()(route)).toEqual(encodedResource("80", whole));
  });

  test("sees a virtual host that is another value", () => {
    const encode = createRouteEncoder();
    const before = encode({ name: "80", virtualHosts: hosts });
    const after = encode({ name: "80", virtualHosts: hosts.with(1, { name: "host-1", domains: ["other"] }) });
    expect(after.version).not.toBe(before.version);
    expect(encode({ name: "80", virtualHosts: hosts }).version).toBe(before.version);
  });
});

describe("the resource guard", () => {
  test("leaves out what cannot be encoded, tells it, and keeps the rest", () => {
    const problems: ResourceProblem[] = [];
    const guard = createResourceGuard((problem) => problems.push(problem));
    const made = guard.each("CDS", ["a", "bad", "c"], String, (name) => {
      if (name === "bad") throw new RangeError("too much");
      return cluster(name);
    });
    expect(made.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(problems).toEqual([{ effect: "left-out", type: "CDS", resource: "bad", reason: "too much" }]);
  });

  test("of several resources of one name the first is retained", () => {
    const dropped: string[] = [];
    const first = cluster("a");
    const kept = onlyUnique([first, cluster("b"), cluster("a", "2s")], ({ name }) => dropped.push(name));
    expect(kept[0]).toBe(first);
    expect(kept).toHaveLength(2);
    expect(dropped).toEqual(["a"]);
  });
});
