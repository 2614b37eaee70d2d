import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../test/support/mesh-model/create-test-mesh.ts";
import { ANY_OBJECTS, ANY_STEPS, apply } from "../../test/support/mesh-model/random-mesh.ts";
import { destinationRule, documents, service, virtualService } from "../../test/support/mesh-model/test-objects.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import type { ResourceSource } from "../xds/resource-source.ts";
import type { XdsType } from "../xds/xds-types.ts";
import { type CachingSource, createResourceSource } from "./create-resource-source.ts";
import type { ResourceProblem } from "./resource-problems.ts";

const names = Array.from({ length: 20 }, (_, index) => `svc-${index}`);
const mesh20 = () => createTestMesh(documents(...names.map((name) => service({ name }))));
const cluster = (name: string, subset = "") => `outbound|80|${subset}|${name}.default.svc.cluster.local`;

describe("the resource source", () => {
  test("proxies alike share every byte that is not their own", () => {
    const { source } = recording();
    const { snapshot } = mesh20().take();
    const first = snapshot.view(testNode({ name: "a-1", address: "10.10.0.1", labels: { irrelevant: "x" } }));
    const second = snapshot.view(testNode({ name: "a-2", address: "10.10.0.2" }));
    expect(source.all(first, "CDS").sotwBody[0]).toBe(source.all(second, "CDS").sotwBody[0]);
    expect(source.all(first, "LDS").sotwBody[0]).toBe(source.all(second, "LDS").sotwBody[0]);
    const clusters = names.map((name) => cluster(name));
    expect(source.named(first, "EDS", clusters)).toBe(source.named(second, "EDS", clusters));
    const routes = ["80"];
    expect(source.named(first, "RDS", routes)).toBe(source.named(second, "RDS", routes));
  });

  test("clients of other namespaces share the clusters and endpoints that are the same for them", () => {
    const { source } = recording();
    const mesh = mesh20();
    mesh.put(documents(destinationRule("pool", "svc-3", { exportTo: ["."] })));
    const { snapshot } = mesh.take();
    const [own, other] = ["default", "elsewhere"].map((namespace) => snapshot.view(testNode({ namespace })));
    const clusters = names.map((name) => cluster(name));
    const [first, second] = [own, other].map((view) => source.all(view as ProxyView, "CDS"));
    for (const name of clusters) expect(first?.get(name) === second?.get(name)).toBe(name !== cluster("svc-3"));
    const [here, there] = [own, other].map((view) => source.named(view as ProxyView, "EDS", clusters));
    expect(clusters.filter((name) => here?.get(name) !== there?.get(name))).toEqual([cluster("svc-3")]);
  });

  test("an object that makes generators fail costs its own resources, and comes back once it is mended", () => {
    const { source, problems } = recording();
    const mesh = mesh20();
    const bad = "svc-3.default.svc.cluster.local";
    const view = mesh.take().snapshot.view(testNode());
    const broken = breaking(view, bad);
    const clusters = names.map((name) => cluster(name));
    expect(source.all(broken, "CDS").get(cluster("svc-3"))).toBeUndefined();
    expect(source.all(broken, "CDS").get(cluster("svc-4"))).toBeDefined();
    expect(source.named(broken, "EDS", clusters).resources.map(({ name }) => name)).toEqual(
      clusters.filter((name) => name !== cluster("svc-3")),
    );
    const hosts = (of: ProxyView) => String(source.named(of, "RDS", ["80"]).get("80")?.any);
    expect(hosts(broken)).not.toContain(bad);
    expect(hosts(broken)).toContain("svc-4.default");
    expect(source.all(broken, "LDS").resources.length).toBeGreaterThan(1);
    const named = (type: XdsType) => problems.filter((one) => one.type === type).map(({ resource }) => resource);
    expect(named("CDS")).toContain(bad);
    expect(named("EDS")).toEqual([cluster("svc-3")]);
    expect(named("RDS")).toContain(bad);
    expect(named("LDS")).toEqual([bad]);
    expect(hosts(view)).toContain(bad);
    expect(source.all(view, "CDS").get(cluster("svc-3"))).toBeDefined();
    expect(source.named(view, "EDS", clusters).resources).toHaveLength(clusters.length);
  });

  test("a change of one service makes its own resources again and no others", () => {
    const { source } = recording();
    const mesh = mesh20();
    const view = () => mesh.take().snapshot.view(testNode());
    const before = source.all(view(), "CDS");
    mesh.put(documents(destinationRule("pool", "svc-3", { subsets: [{ name: "v1", labels: { version: "v1" } }] })));
    const after = source.all(view(), "CDS");
    expect(after.get(cluster("svc-3", "v1"))).toBeDefined();
    for (const name of names.filter((one) => one !== "svc-3")) {
      expect(after.get(cluster(name))).toBe(before.get(cluster(name)));
    }
  });

  test("a change of endpoints makes one assignment again; clusters keep their version", () => {
    const { source } = recording();
    const mesh = mesh20();
    const clusters = names.map((name) => cluster(name));
    const view = () => mesh.take().snapshot.view(testNode());
    const [first, cds] = sets(source, view(), clusters);
    mesh.put(documents(service({ name: "svc-7", endpoints: [{ address: "10.10.1.2", serviceAccount: "svc-7" }] })));
    const [second, after] = sets(source, view(), clusters);
    const changed = clusters.filter((name) => first.get(name) !== second.get(name));
    expect(changed).toEqual([cluster("svc-7")]);
    expect(second.get(cluster("svc-7"))?.version).not.toBe(first.get(cluster("svc-7"))?.version);
    expect(after.version).toBe(cds.version);
  });

  test("lookups are counted, and what is forgotten comes out equal when it is made again", () => {
    const { source } = recording();
    const view = mesh20().take().snapshot.view(testNode());
    const clusters = names.map((name) => cluster(name));
    const before = sets(source, view, clusters);
    const { misses, size } = source.cache.counts;
    expect(size).toBe(40);
    sets(source, view, clusters);
    expect(source.cache.counts).toMatchObject({ hits: 2, misses, evictions: 0, size: 40 });
    source.cache.clear();
    expect(source.cache.counts).toMatchObject({ evictions: 40, size: 0 });
    const after = sets(source, view, clusters);
    expect(after.map(({ version }) => version)).toEqual(before.map(({ version }) => version));
    expect(after[0]).not.toBe(before[0]);
    expect(source.cache.counts).toMatchObject({ misses: 2 * misses, size: 40 });
  });

  test("a name that nothing is known of is an empty assignment or route, and no cluster", () => {
    const { source } = recording();
    const view = createTestMesh().take().snapshot.view(testNode());
    expect(source.named(view, "EDS", [cluster("gone")]).resources).toHaveLength(1);
    expect(source.named(view, "RDS", ["8080"]).resources).toHaveLength(1);
    expect(source.named(view, "CDS", [cluster("gone")]).resources).toEqual([]);
    expect(source.all(view, "ECDS").resources).toEqual([]);
  });

  test.each(["EDS", "RDS"] as const)("a name of several lines is one name of %s, and no other two", (type) => {
    const { source } = recording();
    const { snapshot } = mesh20().take();
    const [hostile, other] = ["1", "2"].map((number) => snapshot.view(testNode({ name: `web-${number}` })));
    const namesOf = (view: ProxyView | undefined, names: readonly string[]) =>
      view && source.named(view, type, names).resources.map(({ name }) => name);
    const asked = [cluster("svc-1"), "80"];
    const wanted = namesOf(createTestMesh().take().snapshot.view(testNode()), asked);
    namesOf(hostile, [asked.join("\n")]);
    expect(namesOf(other, asked)).toEqual(wanted);
  });

  test("names that clients think of do not fill the memory, and drive out nothing that is needed", () => {
    const { source } = recording();
    const view = mesh20().take().snapshot.view(testNode());
    const before = source.all(view, "CDS").parts[0];
    const [first] = source.named(view, "RDS", ["route-0"]).resources;
    for (let number = 0; number < 4100; number += 1) {
      source.named(view, "EDS", [`outbound|80||of-nothing-${number}`]);
      source.named(view, "RDS", [`route-${number}`]);
    }
    expect(source.cache.counts.size).toBe(names.length);
    expect(source.all(view, "CDS").parts[0]).toBe(before);
    const [again] = source.named(view, "RDS", ["route-0"]).resources;
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
  });

  test("a rule that no cluster can follow is reported", () => {
    const { source, problems } = recording();
    const tls = { mode: "MUTUAL", credentialName: "secret" };
    const mesh = createTestMesh(
      documents(service({ name: "bank" }), destinationRule("bank", "bank", { trafficPolicy: { tls } })),
    );
    source.all(mesh.take().snapshot.view(testNode()), "CDS");
    expect(problems.map(({ resource, reason }) => `${resource}: ${reason}`).join("\n")).toMatch(
      /bank\.default.*credentialName/,
    );
  });

  test("an ingress listener whose address an outbound one has is left out and reported", () => {
    const { source, problems } = recording();
    const ingress = [{ port: { number: 80, protocol: "HTTP", name: "http" }, defaultEndpoint: "127.0.0.1:8080" }];
    const sidecar = { kind: "Sidecar", name: "own", spec: { ingress, egress: [{ hosts: ["./*"] }] } };
    const mesh = createTestMesh(documents(service({ name: "web" }), sidecar));
    const node = testNode({ address: "127.0.0.1", metadata: { INTERCEPTION_MODE: "NONE" } });
    const listeners = source.all(mesh.take().snapshot.view(node), "LDS").resources.map(({ name }) => name);
    expect(new Set(listeners).size).toBe(listeners.length);
    expect(problems.map(({ type, resource }) => `${type} ${resource}`)).toEqual(["LDS 127.0.0.1_80"]);
  });

  test("the name table is one resource without name", () => {
    const { source } = recording();
    const view = mesh20()
      .take()
      .snapshot.view(testNode({ metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" } }));
    expect(source.all(view, "NDS").resources.map(({ name }) => name)).toEqual([""]);
  });

  test("after any changes of a mesh, what is remembered is what would be made afresh", () => {
    const node = testNode({ labels: { app: "api" } });
    fc.assert(
      fc.property(ANY_OBJECTS, ANY_STEPS, (objects, steps) => {
        const mesh = createTestMesh(documents(...objects));
        const { source } = recording();
        everything(source, mesh.take().snapshot.view(node));
        for (const step of steps) {
          apply(mesh, step);
          const remembered = everything(source, mesh.take().snapshot.view(node));
          expect(remembered).toEqual(everything(recording().source, mesh.takeAlone().view(node)));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("rules for a host do not leak into the scope of another namespace", () => {
    const { source } = recording();
    const mesh = mesh20();
    const route = virtualService("web", ["svc-1"], { exportTo: ["."] });
    const before = mesh.take().snapshot.view(testNode({ namespace: "prod" }));
    const first = source.named(before, "RDS", ["80"]).version;
    mesh.put(documents(route));
    const after = mesh.take().snapshot;
    expect(source.named(after.view(testNode({ namespace: "prod" })), "RDS", ["80"]).version).toBe(first);
  });
});

function recording(): { readonly source: CachingSource; readonly problems: ResourceProblem[] } {
  const problems: ResourceProblem[] = [];
  return { problems, source: createResourceSource({ onProblem: (problem) => problems.push(problem) }) };
}

function sets(source: ResourceSource<ProxyView>, view: ProxyView, clusters: readonly string[]) {
  return [source.named(view, "EDS", clusters), source.all(view, "CDS")] as const;
}

/** Names and versions of all that a sidecar would ask for. */
function everything(source: ResourceSource<ProxyView>, view: ProxyView): Record<string, string> {
  const clusters = source.all(view, "CDS").resources.map(({ name }) => name);
  const found: Record<string, string> = {};
  const add = (type: XdsType, resources: ReturnType<ResourceSource<ProxyView>["all"]>["resources"]) => {
    for (const { name, version } of resources) found[`${type} ${name}`] = version;
  };
  for (const type of ["CDS", "LDS", "NDS"] as const) add(type, source.all(view, type).resources);
  add("EDS", source.named(view, "EDS", clusters).resources);
  add("RDS", source.named(view, "RDS", ["80", "90", "shared.example:80"]).resources);
  return found;
}

/** The view of a mesh in which nobody can work with rules and addresses of one host. */
function breaking(view: ProxyView, host: string): ProxyView {
  const { outbound } = view;
  const fail = (): never => {
    throw new Error("broken");
  };
  const broken = new Map(
    outbound.services.map((one) => [
      one,
      one.hostname === host ? Object.defineProperty({ ...one }, "addresses", { enumerable: true, get: fail }) : one,
    ]),
  );
  const through = (services: typeof outbound.services) => services.map((one) => broken.get(one) ?? one);
  const egress = outbound.egress.map((listener) => ({ ...listener, services: through(listener.services) }));
  const destinationRule: typeof outbound.destinationRule = (one) =>
    one.hostname === host ? fail() : outbound.destinationRule(one);
  const content = { ...outbound.content, egress };
  const answeredBy = { ...outbound.answeredBy, destinationRules: destinationRule };
  return {
    ...view,
    outbound: { ...outbound, egress, content, services: through(outbound.services), destinationRule, answeredBy },
  };
}
