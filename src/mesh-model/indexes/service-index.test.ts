import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addressesIn, type Service, serviceKey } from "../service.ts";
import { buildServiceIndex } from "./service-index.ts";

interface Given extends Partial<Omit<Service, "ports">> {
  readonly ports?: readonly number[];
}

function made({ ports = [80], ...given }: Given): Service {
  const identity = {
    provider: "External" as const,
    clusterId: "Kubernetes",
    namespace: "default",
    name: "a",
    hostname: "a.example",
    ...given,
  };
  return {
    ...identity,
    key: serviceKey(identity),
    ports: ports.map((port) => ({ name: `http-${port}`, port, protocol: "HTTP" })),
    addresses: [],
    resolution: "ClientSideLB",
    meshExternal: false,
    subjectAltNames: [],
    creationTime: 0,
    labels: {},
    exportTo: [],
    ...given,
  };
}

const describeAll = (services: readonly Service[]) =>
  services.map(({ name, namespace, ports }) => `${namespace}/${name}:${ports.map(({ port }) => port).join()}`);

describe("one host described twice", () => {
  test.each([
    {
      is: "in one namespace: the older keeps its ports, the other has what is left",
      given: [made({ name: "b", ports: [80, 81] }), made({ name: "a", ports: [80] })],
      seen: ["default/a:80", "default/b:81"],
    },
    {
      is: "in one namespace with equal ports: the older alone",
      given: [made({ name: "b", creationTime: 1 }), made({ name: "a", creationTime: 2 })],
      seen: ["default/b:80"],
    },
    {
      is: "one of them by Kubernetes: Kubernetes, however young",
      given: [made({ name: "a" }), made({ name: "k", provider: "Kubernetes", creationTime: 9 })],
      seen: ["default/k:80"],
    },
    {
      is: "in the proxy's own and another namespace: the own, however young",
      given: [made({ name: "a", namespace: "prod" }), made({ name: "b", creationTime: 9 })],
      seen: ["default/b:80"],
    },
    {
      is: "in two other namespaces: the older",
      given: [
        made({ name: "b", namespace: "p2", creationTime: 1 }),
        made({ name: "a", namespace: "p1", creationTime: 2 }),
      ],
      seen: ["p2/b:80"],
    },
    {
      is: "in another namespace by an older one that is hidden",
      given: [
        made({ name: "b", namespace: "p2", exportTo: ["."] }),
        made({ name: "c", namespace: "p1", creationTime: 2 }),
      ],
      seen: ["p1/c:80"],
    },
    {
      is: "in one namespace by an older one that is hidden: it takes no port away",
      given: [
        made({ name: "b", namespace: "p1", exportTo: ["."] }),
        made({ name: "c", namespace: "p1", creationTime: 2, ports: [80, 81] }),
      ],
      seen: ["p1/c:80,81"],
    },
  ])("$is", ({ given, seen }) => {
    const { services } = buildServiceIndex(given, ["*"]).visibleTo("default");
    expect(describeAll(services)).toEqual(seen);
  });

  test("the one that has all ports and no address is called by the addresses of others and by every other one", () => {
    const given = [made({ name: "a" }), made({ name: "b", creationTime: 1, addresses: ["10.0.0.2"] })];
    const { services } = buildServiceIndex(given, ["*"]).visibleTo("default");
    expect(services).toMatchObject([{ name: "a", addresses: ["10.0.0.2"], isCalledAnywhere: true }]);
  });

  test("the one that has all ports is called by the addresses of both, and is the same value again", () => {
    const given = [
      made({ name: "a", addresses: ["10.0.0.1"] }),
      made({ name: "b", creationTime: 1, addresses: ["10.0.0.2", "10.0.0.1"] }),
      made({ name: "c", creationTime: 2, ports: [81], addresses: ["10.0.0.3"] }),
    ];
    const index = buildServiceIndex(given, ["*"]);
    const { services } = index.visibleTo("default");
    expect(services.map(({ addresses }) => addresses)).toEqual([["10.0.0.1", "10.0.0.2"], ["10.0.0.3"]]);
    const later = buildServiceIndex([...given, made({ name: "d", hostname: "d.example" })], ["*"], index);
    expect(later.visibleTo("default").services[0]).toBe(services[0]);
  });
});

test.each([
  { exportTo: [], meshDefault: ["*"], sees: true },
  { exportTo: [], meshDefault: ["."], sees: false },
  { exportTo: ["*"], meshDefault: ["."], sees: true },
  { exportTo: ["."], meshDefault: ["*"], sees: false },
  { exportTo: ["default"], meshDefault: ["*"], sees: true },
  { exportTo: ["other", "~"], meshDefault: ["*"], sees: false },
])(
  "a service exported to $exportTo, by default to $meshDefault, is seen elsewhere: $sees",
  ({ exportTo, meshDefault, sees }) => {
    const index = buildServiceIndex([made({ namespace: "prod", exportTo })], meshDefault);
    expect(index.visibleTo("default").all).toHaveLength(sees ? 1 : 0);
  },
);

test("services that are shown to few come before those that everybody sees, each by age", () => {
  const given = [
    made({ name: "a", hostname: "a.example" }),
    made({ name: "b", hostname: "b.example", namespace: "prod", exportTo: ["default", "prod"] }),
    made({ name: "c", hostname: "c.example", exportTo: ["."] }),
    made({ name: "d", hostname: "d.example", exportTo: ["default", "*"] }),
  ];
  const names = (meshDefault: readonly string[]) =>
    buildServiceIndex(given, meshDefault)
      .visibleTo("default")
      .all.map(({ name }) => name)
      .join("");
  expect(names(["*"])).toBe("bcad");
  expect(names(["."])).toBe("abcd");
});

describe("values stay the same", () => {
  const given = [made({ name: "a", ports: [80, 81] }), made({ name: "b", hostname: "b.example" })];
  const before = buildServiceIndex(given, ["*"]);

  test("the index, when the services did", () => {
    expect(buildServiceIndex([...given], ["*"], before)).toBe(before);
    expect(buildServiceIndex(given, ["."], before)).not.toBe(before);
  });

  test("a service cut down to some ports, also in later indexes", () => {
    const [whole = made({})] = given;
    const cut = before.withPorts(whole, [81]);
    expect(cut?.ports.map(({ port }) => port)).toEqual([81]);
    expect(cut?.key).toBe(whole.key);
    const after = buildServiceIndex([...given, made({ name: "c", hostname: "c.example" })], ["*"], before);
    expect(after.withPorts(whole, [81])).toBe(cut);
    expect(after.withPorts(whole, [81, 80])).toBe(whole);
    expect(after.withPorts(whole, [82])).toBeUndefined();
  });
});

test("regardless of the order given, the same services win, and host and port are there once", () => {
  const service = fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    namespace: fc.constantFrom("default", "prod", "test"),
    hostname: fc.constantFrom("x.example", "y.example"),
    creationTime: fc.integer({ min: 0, max: 2 }),
    ports: fc.uniqueArray(fc.constantFrom(80, 81, 82), { minLength: 1 }),
  });
  const services = fc.uniqueArray(service.map(made), {
    selector: ({ namespace, name }) => `${namespace}/${name}`,
    maxLength: 8,
  });
  fc.assert(
    fc.property(services, fc.nat(), (given, turn) => {
      const turned = [
        ...given.slice(turn % (given.length || 1)),
        ...given.slice(0, turn % (given.length || 1)),
      ].reverse();
      const seen = buildServiceIndex(given, ["*"]).visibleTo("default").services;
      expect(buildServiceIndex(turned, ["*"]).visibleTo("default").services).toEqual(seen);
      const places = seen.flatMap(({ hostname, ports }) => ports.map(({ port }) => `${hostname}:${port}`));
      expect(new Set(places).size).toBe(places.length);
      expect(new Set(seen.map(({ hostname }) => hostname))).toEqual(new Set(given.map(({ hostname }) => hostname)));
    }),
  );
});

describe("one service of Kubernetes in several clusters", () => {
  const inCluster = (clusterId: string, given: Given = {}) =>
    made({ provider: "Kubernetes", clusterId, addresses: [`10.0.0.${clusterId.length}`], ...given });
  const own = inCluster("own", { creationTime: 1, subjectAltNames: ["a"] });
  const other = inCluster("other", { creationTime: 2, ports: [80, 81], subjectAltNames: ["b"] });

  test("is known in each by that cluster's addresses, in a third by those of the oldest", () => {
    const [first, rest] = buildServiceIndex([other, own], []).services;
    expect(first).toMatchObject({ clusterId: "own", subjectAltNames: ["a", "b"] });
    expect(rest?.ports.map(({ port }) => port)).toEqual([81]);
    for (const service of [first, rest]) {
      if (service === undefined) throw new Error("two services were expected");
      expect(addressesIn(service, "own")).toEqual(["10.0.0.3"]);
      expect(addressesIn(service, "other")).toEqual(["10.0.0.5"]);
    }
    expect(first && addressesIn(first, "third")).toEqual(["10.0.0.3"]);
  });

  test("stays the same value while the clusters say the same of it", () => {
    const before = buildServiceIndex([own, other], []);
    const after = buildServiceIndex([own, other, inCluster("own", { name: "z", hostname: "z.example" })], [], before);
    expect(after.services.find(({ key }) => key === own.key)).toBe(before.services[0]);
  });

  test("that is alone is the value the registry gave", () => {
    expect(buildServiceIndex([own], []).services[0]).toBe(own);
  });
});
