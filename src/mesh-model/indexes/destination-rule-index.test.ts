import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { destinationRule, documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { buildDestinationRuleIndex } from "./destination-rule-index.ts";

const SETTINGS = {
  domainSuffix: "cluster.local",
  defaultDestinationRuleExportTo: ["*"],
  rootNamespace: "istio-system",
};
const REVIEWS = { hostname: "reviews.prod.svc.cluster.local", namespace: "prod" };
const policy = (maxConnections: number) => ({ trafficPolicy: { connectionPool: { tcp: { maxConnections } } } });
const selector = (labels: Record<string, string>) => ({ workloadSelector: { matchLabels: labels } });
const subsets = (...names: string[]) => ({ subsets: names.map((name) => ({ name, labels: { version: name } })) });

function rules(...objects: readonly TestObject[]): readonly ConfigObject<"DestinationRule">[] {
  const parsed = parseConfigText(documents(...objects));
  expect(parsed.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return parsed.objects.filter((object) => object.kind === "DestinationRule").sort(compareAge);
}

function index(...objects: readonly TestObject[]) {
  return buildDestinationRuleIndex(rules(...objects), SETTINGS);
}

describe("which rule a client uses", () => {
  const own = destinationRule("own", REVIEWS.hostname, { namespace: "client" });
  const theirs = destinationRule("theirs", "reviews", { namespace: "prod" });
  const root = destinationRule("root", REVIEWS.hostname, { namespace: "istio-system" });
  const elsewhere = destinationRule("elsewhere", REVIEWS.hostname, { namespace: "third" });
  const wide = (name: string, host: string, namespace: string) => destinationRule(name, host, { namespace });

  test.each([
    { is: "its own before all", given: [root, theirs, own], name: "own" },
    { is: "the service's before the root's", given: [root, theirs, elsewhere], name: "theirs" },
    { is: "the root's at last", given: [root, elsewhere], name: "root" },
    { is: "none of a third namespace", given: [elsewhere], name: undefined },
    {
      is: "a wide own one before an exact one of the service",
      given: [theirs, wide("wide", "*.local", "client")],
      name: "wide",
    },
    {
      is: "the most specific of a namespace",
      given: [
        wide("all", "*", "prod"),
        wide("local", "*.local", "prod"),
        wide("svc", "*.prod.svc.cluster.local", "prod"),
      ],
      name: "svc",
    },
    { is: "an exact one before wildcards", given: [wide("local", "*.local", "prod"), theirs], name: "theirs" },
    {
      is: "none that is private to another namespace",
      given: [destinationRule("private", "reviews", { namespace: "prod", exportTo: ["."] }), root],
      name: "root",
    },
    {
      is: "a wide visible one when the exact one is hidden",
      given: [
        destinationRule("hidden", "reviews", { namespace: "prod", exportTo: ["third"] }),
        wide("local", "*.local", "prod"),
      ],
      name: "local",
    },
    {
      is: "one that is exported to its namespace by name",
      given: [destinationRule("named", "reviews", { namespace: "prod", exportTo: ["client", "."] })],
      name: "named",
    },
    {
      is: "none of its own namespace that is for others only",
      given: [destinationRule("others", REVIEWS.hostname, { namespace: "client", exportTo: ["third"] })],
      name: undefined,
    },
  ])("$is", ({ given, name }) => {
    const found = index(...given).find({ namespace: "client", labels: {} }, REVIEWS);
    expect(found?.object.name).toBe(name);
  });

  test("in the root namespace, rules for everybody do not beat the service's own", () => {
    const privately = destinationRule("private", REVIEWS.hostname, { namespace: "istio-system", exportTo: ["."] });
    const client = { namespace: "istio-system", labels: {} };
    expect(index(root, theirs).find(client, REVIEWS)?.object.name).toBe("theirs");
    expect(index(root, theirs, privately).find(client, REVIEWS)?.object.name).toBe("private");
    expect(index(root).find(client, REVIEWS)?.object.name).toBe("root");
  });

  test.each([
    { labels: { app: "web" }, name: "web" },
    { labels: { app: "web", other: "x" }, name: "web" },
    { labels: { app: "job" }, name: "all" },
    { labels: undefined, name: "all" },
  ])("a client with labels $labels uses the rule $name", ({ labels, name }) => {
    const all = destinationRule("all", REVIEWS.hostname, { namespace: "client", created: 1 });
    const web = destinationRule("web", REVIEWS.hostname, {
      namespace: "client",
      created: 2,
      ...selector({ app: "web" }),
    });
    const client = { namespace: "client", ...(labels && { labels }) };
    expect(index(all, web).find(client, REVIEWS)?.object.name).toBe(name);
  });

  test("a rule for other workloads does not hide the rule of the service", () => {
    const job = destinationRule("job", REVIEWS.hostname, { namespace: "client", ...selector({ app: "job" }) });
    expect(index(job, theirs).find({ namespace: "client", labels: { app: "web" } }, REVIEWS)?.object.name).toBe(
      "theirs",
    );
  });

  test("a selector says nothing to clients of another namespace", () => {
    const job = destinationRule("job", "reviews", { namespace: "prod", ...selector({ app: "web" }) });
    expect(index(job, root).find({ namespace: "client", labels: { app: "web" } }, REVIEWS)?.object.name).toBe("root");
  });
});

describe("rules for one host in one namespace", () => {
  const find = (...objects: readonly TestObject[]) =>
    index(...objects).find({ namespace: "prod", labels: { app: "web" } }, REVIEWS);
  const rule = (name: string, created: number, spec: Record<string, unknown>) =>
    destinationRule(name, "reviews", { namespace: "prod", created, ...spec });

  test("are one: the first policy, the subsets of all, a name once", () => {
    const found = find(
      rule("b", 2, { ...policy(2), ...subsets("v2", "v1") }),
      rule("a", 1, subsets("v1")),
      rule("c", 3, policy(3)),
    );
    expect(found?.objects.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(found?.object.name).toBe("a");
    expect(found?.spec.subsets.map(({ name }) => name)).toEqual(["v1", "v2"]);
    expect(found?.spec.trafficPolicy?.connectionPool?.tcp?.maxConnections).toBe(2);
    expect(found?.spec.host).toBe(REVIEWS.hostname);
  });

  test("stay apart when they are shown to different namespaces", () => {
    const given = [
      rule("a", 1, { ...subsets("v1"), exportTo: ["."] }),
      rule("b", 2, { ...subsets("v2"), exportTo: ["*"] }),
    ];
    // Both are shown to their own namespace: the later one counts there.
    expect(find(...given)?.spec.subsets.map(({ name }) => name)).toEqual(["v2"]);
    const others = index(...given).find({ namespace: "client", labels: {} }, REVIEWS);
    expect(others?.spec.subsets.map(({ name }) => name)).toEqual(["v2"]);
  });

  test("visibility is compared by what it means", () => {
    const found = find(
      rule("a", 1, { ...subsets("v1"), exportTo: ["."] }),
      rule("b", 2, { ...subsets("v2"), exportTo: ["prod"] }),
    );
    expect(found?.spec.subsets.map(({ name }) => name)).toEqual(["v1", "v2"]);
  });

  test("one with a selector takes over what those without say to their own namespace; they stay for everybody else", () => {
    const given = [
      rule("all", 1, { ...subsets("v1"), ...policy(1), exportTo: ["."] }),
      rule("web", 2, { ...subsets("v2"), ...selector({ app: "web" }) }),
      rule("job", 3, { ...subsets("v3"), ...selector({ app: "job" }) }),
    ];
    expect(find(...given)?.spec).toMatchObject({ subsets: [{ name: "v2" }, { name: "v1" }], ...policy(1) });
    const plain = index(...given).find({ namespace: "prod", labels: {} }, REVIEWS);
    expect(plain?.spec.subsets.map(({ name }) => name)).toEqual(["v1"]);
  });

  test("one with a selector has nothing of those that are shown to all", () => {
    const given = [
      rule("all", 1, { ...subsets("v1"), ...policy(1) }),
      rule("web", 2, { ...subsets("v2"), ...selector({ app: "web" }) }),
    ];
    expect(find(...given)?.spec.subsets.map(({ name }) => name)).toEqual(["v2"]);
    expect(find(...given)?.spec.trafficPolicy).toBeUndefined();
  });

  test("merge alike regardless of the order in which they are given", () => {
    const names = fc.uniqueArray(fc.constantFrom("v1", "v2", "v3"), { maxLength: 3 });
    const spec = fc.record({
      subsets: names,
      max: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      selected: fc.boolean(),
      created: fc.integer({ min: 1, max: 3 }),
    });
    const given = fc.array(spec, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(given, fc.infiniteStream(fc.nat()), (specs, numbers) => {
        const objects = specs.map(({ subsets: of, max, selected, created }, at) =>
          rule(`r${at}`, created, {
            ...(of.length > 0 && subsets(...of)),
            ...(max !== undefined && policy(max)),
            ...(selected && selector({ app: "web" })),
            ...(of.length === 0 && max === undefined && subsets("only")),
          }),
        );
        const order = new Map(objects.map((object) => [object, numbers.next().value]));
        const shuffled = [...objects].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
        expect(find(...shuffled)).toEqual(find(...objects));
      }),
      { numRuns: 50 },
    );
  });
});

describe("an index that follows another", () => {
  const first = rules(
    destinationRule("a", "reviews", { namespace: "prod" }),
    destinationRule("b", "x", { namespace: "other" }),
  );

  test("is the same value when nothing changed", () => {
    const before = buildDestinationRuleIndex(first, SETTINGS);
    expect(buildDestinationRuleIndex([...first], { ...SETTINGS }, before)).toBe(before);
    expect(buildDestinationRuleIndex(first, { ...SETTINGS, domainSuffix: "x" }, before)).not.toBe(before);
  });

  test("keeps the rules of namespaces that did not change", () => {
    const before = buildDestinationRuleIndex(first, SETTINGS);
    const client = { namespace: "client", labels: {} };
    const grown = [...first, ...rules(destinationRule("c", "y", { namespace: "other" }))];
    expect(buildDestinationRuleIndex(grown, SETTINGS, before).find(client, REVIEWS)).toBe(before.find(client, REVIEWS));
  });
});

test("labels that rules look at are known by name", () => {
  const failover = (entries: string[]) => ({
    trafficPolicy: {
      loadBalancer: { localityLbSetting: { failoverPriority: entries } },
      outlierDetection: { interval: "1s" },
    },
  });
  const made = index(
    destinationRule("a", "x", { namespace: "prod", ...selector({ app: "web" }) }),
    destinationRule("b", "y", failover(["rack", "disk=ssd"])),
  );
  expect(made.selectorLabels("prod")).toEqual(["app"]);
  expect(made.selectorLabels("default")).toEqual([]);
  expect([...made.failoverLabels]).toEqual(["rack", "disk"]);
});
