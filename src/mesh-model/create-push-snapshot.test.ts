import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../test/support/mesh-model/create-test-mesh.ts";
import { ANY_OBJECTS, ANY_STEPS, apply, visible } from "../../test/support/mesh-model/random-mesh.ts";
import {
  destinationRule,
  documents,
  peerAuthentication,
  service,
  virtualService,
} from "../../test/support/mesh-model/test-objects.ts";
import { formatLocality } from "./locality.ts";
import type { Service } from "./service.ts";

const SERVICES = documents(
  service({ name: "web", endpoints: [{ address: "10.10.0.11", labels: { app: "web" }, serviceAccount: "web" }] }),
  service({ name: "api", namespace: "prod" }),
);

describe("proxies alike share what they see", () => {
  const { snapshot } = createTestMesh(
    documents(
      virtualService("r", ["x.example"], {
        http: [{ match: [{ sourceLabels: { tier: "a" } }], route: [{ destination: { host: "x.example" } }] }],
      }),
      destinationRule("d", "y.example", { workloadSelector: { matchLabels: { ring: "1" } } }),
      {
        kind: "Sidecar",
        name: "s",
        spec: { workloadSelector: { labels: { app: "lean" } }, egress: [{ hosts: ["./*"] }] },
      },
    ),
  ).take();
  const scope = (node: Parameters<typeof testNode>[0]) => snapshot.view(testNode(node)).outbound;
  const base = { labels: { app: "web", tier: "a" } };

  test.each([
    { is: "another name and address", node: { ...base, name: "web-2", address: "10.10.0.12" }, shared: true },
    { is: "labels no one asks for", node: { labels: { ...base.labels, "pod-template-hash": "x" } }, shared: true },
    { is: "labels in another order", node: { labels: { tier: "a", app: "web" } }, shared: true },
    { is: "a label that only a Sidecar object asks for", node: { labels: { tier: "a", app: "other" } }, shared: true },
    { is: "a source label of a route", node: { labels: { app: "web", tier: "b" } }, shared: false },
    { is: "a label of a rule's selector", node: { labels: { ...base.labels, ring: "1" } }, shared: false },
    { is: "that label in a namespace without such a rule", node: { ...base, namespace: "prod" }, shared: false },
    { is: "another Sidecar object", node: { labels: { ...base.labels, app: "lean" } }, shared: false },
    { is: "IPv6 addresses", node: { ...base, address: "fd00::1" }, shared: false },
    { is: "interception", node: { ...base, metadata: { INTERCEPTION_MODE: "NONE" } }, shared: false },
    { is: "DNS capture", node: { ...base, metadata: { DNS_CAPTURE: "true" } }, shared: false },
    { is: "locality", node: { labels: { ...base.labels, "istio-locality": "r.z.s" } }, shared: false },
    { is: "another network", node: { ...base, metadata: { NETWORK: "n2" } }, shared: false },
  ])("$is: $shared", ({ node, shared }) => {
    expect(scope(node) === scope(base)).toBe(shared);
    expect(scope(node).key === scope(base).key).toBe(shared);
  });

  test("labels that no one asks for are not to be seen in a scope", () => {
    expect(scope({ labels: { ...base.labels, secret: "x" } }).traits.labels).toEqual({ tier: "a" });
  });

  test.each([
    { is: "what the node says", labels: { "istio-locality": "r.z" }, served: "10.10.0.99", locality: "r/z" },
    {
      is: "what the registry says of the workload",
      labels: { "istio-locality": "r.z" },
      served: "10.10.0.11",
      locality: "r2/z2",
    },
    { is: "nothing", labels: {}, served: "10.10.0.99", locality: "" },
  ])("the locality of a client is $is", ({ labels, served, locality }) => {
    const placed = service({ name: "web", endpoints: [{ address: served, locality: "r2/z2" }] });
    const { traits } = createTestMesh(documents(placed)).take().snapshot.view(testNode({ labels })).outbound;
    expect(formatLocality(traits.locality)).toBe(locality);
  });

  test("a node has one view", () => {
    const node = testNode();
    expect(snapshot.view(node)).toBe(snapshot.view(node));
  });
});

describe("what a workload serves", () => {
  const web = { name: "web", ports: [80, 81], endpoints: [{ address: "10.10.0.11" }, { address: "10.10.0.12" }] };

  test("the ports of services at its address, and replicas share one scope", () => {
    const { snapshot } = createTestMesh(documents(service(web), service({ name: "other" }))).take();
    const one = snapshot.view(testNode()).inbound;
    expect(one.targets.map(({ service: { name }, targetPort }) => [name, targetPort])).toEqual([
      ["web", 80],
      ["web", 81],
    ]);
    expect(snapshot.view(testNode({ address: "10.10.0.12", name: "web-2" })).inbound).toBe(one);
    expect(snapshot.view(testNode({ address: "10.10.0.13" })).inbound.targets).toEqual([]);
    expect(snapshot.view(testNode({ namespace: "prod" })).inbound.targets).toEqual([]);
  });

  test("the oldest service comes first", () => {
    const young = service({ ...web, name: "a", created: 9 });
    const { snapshot } = createTestMesh(documents(young, service({ ...web, name: "z", created: 1 }))).take();
    expect(snapshot.view(testNode()).inbound.targets.map(({ service: { name } }) => name)).toEqual([
      "z",
      "z",
      "a",
      "a",
    ]);
  });

  test("modes of mutual TLS are those of the workload; replicas under other policies do not share", () => {
    const policy = {
      selector: { matchLabels: { app: "web" } },
      mtls: { mode: "STRICT" },
      portLevelMtls: { 81: { mode: "DISABLE" } },
    };
    const { snapshot } = createTestMesh(documents(service(web), peerAuthentication("p", "default", policy))).take();
    const strict = snapshot.view(testNode({ labels: { app: "web" } })).inbound;
    expect([strict.mtls, strict.portMtls]).toEqual(["STRICT", new Map([[81, "DISABLE"]])]);
    const open = snapshot.view(testNode()).inbound;
    expect([open.mtls, open.portMtls.size]).toEqual(["PERMISSIVE", 0]);
  });

  test("a Sidecar object's ingress is there beside the targets", () => {
    const ingress = [{ port: { number: 8080, protocol: "HTTP", name: "http" }, defaultEndpoint: "127.0.0.1:1" }];
    const { snapshot } = createTestMesh(
      documents(service(web), { kind: "Sidecar", name: "s", spec: { ingress } }),
    ).take();
    const { inbound } = snapshot.view(testNode());
    expect(inbound.ingress.map(({ port }) => port?.number)).toEqual([8080]);
    expect(inbound.sidecar?.name).toBe("s");
    expect(inbound.targets).toHaveLength(2);
  });

  test("rules about the served service count, those for certain clients do not", () => {
    const pool = (maxConnections: number) => ({ trafficPolicy: { connectionPool: { tcp: { maxConnections } } } });
    const { snapshot } = createTestMesh(
      documents(
        service(web),
        destinationRule("all", "web", { created: 1, ...pool(1) }),
        destinationRule("some", "web", { created: 2, ...pool(2), workloadSelector: { matchLabels: { app: "web" } } }),
      ),
    ).take();
    const view = snapshot.view(testNode({ labels: { app: "web" } }));
    const [target] = view.inbound.targets;
    if (target === undefined) throw new Error("no target");
    expect(view.inbound.rules.get(target.service.key)?.object.name).toBe("all");
    expect(view.outbound.destinationRule(target.service)?.object.name).toBe("some");
  });
});

describe("mutual TLS modes of others", () => {
  test("a service has the mode of its namespace, an endpoint that of its workload and port", () => {
    const { snapshot } = createTestMesh(
      documents(
        service({
          name: "api",
          namespace: "prod",
          endpoints: [{ address: "10.0.0.1", labels: { app: "api" } }, { address: "10.0.0.2" }],
        }),
        peerAuthentication("mesh", "istio-system", { mtls: { mode: "STRICT" } }),
        peerAuthentication("api", "prod", {
          selector: { matchLabels: { app: "api" } },
          portLevelMtls: { 80: { mode: "DISABLE" } },
        }),
      ),
    ).take();
    const { outbound } = snapshot.view(testNode());
    const [api] = outbound.services;
    if (api === undefined) throw new Error("no service");
    expect(outbound.serviceMtls(api)).toBe("STRICT");
    expect(
      snapshot.endpoints(api.key).map((one) => outbound.modesIn(one.namespace).ofPort(one.labels, one.port)),
    ).toEqual(["DISABLE", "STRICT"]);
  });
});

describe("a snapshot that follows another", () => {
  const node = testNode({ labels: { app: "web" } });
  const viewsAround = (change: (mesh: ReturnType<typeof createTestMesh>) => void, yaml = SERVICES) => {
    const mesh = createTestMesh(yaml);
    const before = mesh.take().snapshot.view(node);
    change(mesh);
    return { before, view: mesh.take().snapshot.view(node) };
  };
  const web = (endpoints: readonly Record<string, unknown>[]) => documents(service({ name: "web", endpoints }));

  test("keeps everything when nothing changed", () => {
    const { before, view } = viewsAround(() => undefined);
    expect(view.outbound.content).toBe(before.outbound.content);
    expect(view.outbound.services).toBe(before.outbound.services);
    expect(view.outbound.egress).toBe(before.outbound.egress);
    expect(view.inbound).toBe(before.inbound);
    expect(view.outbound).not.toBe(before.outbound);
    expect(view.outbound.snapshot).toBe(view.snapshot);
  });

  test("an endpoint more of the same identity leaves the content as it was", () => {
    const endpoint = { address: "10.10.0.11", labels: { app: "web" }, serviceAccount: "web" };
    const { before, view } = viewsAround((mesh) => mesh.put(web([endpoint, { ...endpoint, address: "10.10.0.12" }])));
    expect(view.outbound.content).toBe(before.outbound.content);
    const [key = ""] = view.outbound.services.filter(({ name }) => name === "web").map((one) => one.key);
    expect(view.snapshot.endpoints(key)).toHaveLength(2);
    expect(before.snapshot.endpoints(key)).toHaveLength(1);
    expect(view.snapshot.serviceAccounts(key)).toBe(before.snapshot.serviceAccounts(key));
  });

  test("an endpoint of another identity is another shape, and no other content", () => {
    const endpoint = { address: "10.10.0.11", serviceAccount: "other" };
    const { before, view } = viewsAround((mesh) => mesh.put(web([endpoint])));
    const { key } = view.outbound.service("web.default.svc.cluster.local") as Service;
    expect(view.snapshot.endpointShape(key)).not.toBe(before.snapshot.endpointShape(key));
    expect(view.outbound.answeredBy.shapes).not.toBe(before.outbound.answeredBy.shapes);
    expect(view.outbound.content).toBe(before.outbound.content);
  });

  test("a new service changes the lists, and services and rules in them stay the values they were", () => {
    const yaml = `${SERVICES}\n---\n${documents(destinationRule("d", "web"), virtualService("v", ["web"]))}`;
    const { before, view } = viewsAround((mesh) => mesh.put(documents(service({ name: "new" }))), yaml);
    expect(view.outbound.services).toHaveLength(before.outbound.services.length + 1);
    for (const one of before.outbound.services) {
      expect(view.outbound.services).toContain(one);
      expect(view.outbound.destinationRule(one)).toBe(before.outbound.destinationRule(one));
    }
    expect(view.outbound.egress[0]?.virtualServices).toBe(before.outbound.egress[0]?.virtualServices);
    expect(view.inbound).toBe(before.inbound);
  });

  test.each([
    { is: "a service that is hidden from it", object: service({ name: "new", namespace: "prod", exportTo: ["."] }) },
    {
      is: "a rule of another namespace for another host",
      object: destinationRule("d", "z.example", { namespace: "prod" }),
    },
    {
      is: "a rule that is hidden from it",
      object: virtualService("v", ["api"], { namespace: "prod", exportTo: ["."] }),
    },
    { is: "a policy of another namespace", object: { kind: "Telemetry", name: "t", namespace: "prod", spec: {} } },
    {
      is: "a Sidecar object for others",
      object: {
        kind: "Sidecar",
        name: "s",
        spec: { workloadSelector: { labels: { app: "x" } }, egress: [{ hosts: ["./*"] }] },
      },
    },
  ])("$is changes nothing for the proxy", ({ object }) => {
    const { before, view } = viewsAround((mesh) => mesh.put(documents(object)));
    expect(view.outbound.content).toBe(before.outbound.content);
    expect(view.inbound).toBe(before.inbound);
  });

  test("a Sidecar limit that shows the same is the same, regardless of what happens behind it", () => {
    const yaml = `${SERVICES}\n---\n${documents({ kind: "Sidecar", name: "s", spec: { egress: [{ hosts: ["./*"] }] } })}`;
    const { before, view } = viewsAround(
      (mesh) => mesh.put(documents(service({ name: "new", namespace: "prod" }))),
      yaml,
    );
    expect(view.outbound.content).toBe(before.outbound.content);
  });

  test.each([
    { is: "a route rule", object: virtualService("v", ["api"], { namespace: "prod" }) },
    { is: "a Sidecar object", object: { kind: "Sidecar", name: "s", spec: { egress: [{ hosts: ["./*"] }] } } },
  ])("$is is a change of the content", ({ object }) => {
    const { before, view } = viewsAround((mesh) => mesh.put(documents(object)));
    expect(view.outbound.content).not.toBe(before.outbound.content);
  });

  test.each([
    { is: "a service rule", answers: "destinationRules", object: destinationRule("d", "api", { namespace: "prod" }) },
    {
      is: "a mode of a namespace",
      answers: "modes",
      object: peerAuthentication("p", "prod", { mtls: { mode: "DISABLE" } }),
    },
  ] as const)("$is is a change of what answers $answers alone", ({ answers, object }) => {
    const { before, view } = viewsAround((mesh) => mesh.put(documents(object)));
    const names = Object.keys(view.outbound.answeredBy) as (keyof typeof view.outbound.answeredBy)[];
    const others = names.filter((name) => view.outbound.answeredBy[name] !== before.outbound.answeredBy[name]);
    expect(others).toEqual([answers]);
    expect(view.outbound.content).toBe(before.outbound.content);
  });

  test("other mesh settings change everything", () => {
    const { before, view } = viewsAround((mesh) => mesh.setMesh("outboundTrafficPolicy: {mode: REGISTRY_ONLY}"));
    expect(view.outbound.content).not.toBe(before.outbound.content);
    expect(view.outbound.outboundTrafficPolicy.mode).toBe("REGISTRY_ONLY");
  });

  test("snapshots that no proxy looked at lose nothing", () => {
    const mesh = createTestMesh(SERVICES);
    const before = mesh.take().snapshot.view(node);
    for (let skipped = 0; skipped < 5; skipped += 1) mesh.take();
    expect(mesh.take().snapshot.view(node).outbound.content).toBe(before.outbound.content);
  });

  test("the old snapshot goes on showing the old state", () => {
    const mesh = createTestMesh(SERVICES);
    const { snapshot } = mesh.take();
    mesh.delete({ kind: "ServiceEntry", namespace: "prod", name: "api" });
    const api = snapshot.services.find(({ name }) => name === "api");
    expect(snapshot.view(testNode()).outbound.service("api.prod.svc.cluster.local")).toBe(api);
    expect(snapshot.endpoints(api?.key ?? "")).toHaveLength(1);
    expect(mesh.take().snapshot.services).toHaveLength(1);
  });
});

test("a snapshot that follows others shows what one made from nothing shows", () => {
  const nodes = [
    testNode({ labels: { app: "a" } }),
    testNode({ namespace: "prod", address: "10.10.0.12" }),
    testNode({ namespace: "istio-system", labels: { app: "api" } }),
  ];
  fc.assert(
    fc.property(ANY_OBJECTS, ANY_STEPS, (start, steps) => {
      const mesh = createTestMesh(documents(...start));
      for (const actions of [[], ...steps]) {
        apply(mesh, actions);
        const { snapshot } = mesh.take();
        const alone = mesh.takeAlone();
        for (const node of nodes) expect(visible(snapshot.view(node))).toEqual(visible(alone.view(node)));
      }
    }),
    { numRuns: 60 },
  );
});

test("a snapshot holds none of those before it", async () => {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc") as () => void;
  const rule = (subset: number) => destinationRule("d", "web", { subsets: [{ name: `v${subset}`, labels: {} }] });
  const mesh = createTestMesh(`${SERVICES}\n---\n${documents(rule(0))}`);
  const node = testNode();
  const first = () => {
    const { outbound, snapshot } = mesh.take().snapshot.view(node);
    const lists = outbound.egress.flatMap(({ services, virtualServices }) => [services, virtualServices]);
    const rules = outbound.services.flatMap((one) => outbound.destinationRule(one) ?? []);
    const values: readonly object[] = [snapshot, outbound.content, outbound.egress, ...lists, ...rules];
    return values.map((value) => new WeakRef(value));
  };
  const weak = first();
  // Scopes are remembered for a while, so that a few steps are needed.
  for (let step = 0; step < 12; step += 1) {
    mesh.put(documents(virtualService(`v${step}`, ["web"]), service({ name: `new-${step}` }), rule(step + 1)));
    const { snapshot } = mesh.take();
    expect(snapshot.view(node).outbound.egress[0]?.virtualServices).toHaveLength(step + 1);
  }
  // A collection that had begun while they were in use does not find them; the next one does.
  const held = () => {
    collect();
    return weak.filter((one) => one.deref() !== undefined).length;
  };
  await expect.poll(held).toBe(0);
});
