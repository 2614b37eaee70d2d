import { describe, expect, test } from "vitest";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject, virtualService } from "../../../test/support/mesh-model/test-objects.ts";
import type { EgressListener, OutboundScope } from "../push-snapshot.ts";

function scopeOf(objects: readonly TestObject[], node: TestNode = {}, meshYaml?: string): OutboundScope {
  return createTestMesh(documents(...objects), meshYaml)
    .take()
    .snapshot.view(testNode(node)).outbound;
}

const sidecar = (name: string, spec: Record<string, unknown>, namespace = "default", created?: number): TestObject => {
  return { kind: "Sidecar", name, namespace, ...(created === undefined ? {} : { created }), spec };
};
const egress = (...hosts: string[]) => ({ egress: [{ hosts }] });
const selecting = (app: string) => ({ workloadSelector: { labels: { app } } });
const shown = ({ services }: Pick<EgressListener, "services">) =>
  services.map(
    ({ hostname, ports }) => `${hostname.replace(".svc.cluster.local", "")}:${ports.map(({ port }) => port).join()}`,
  );

const MESH = [
  service({ name: "near" }),
  service({ name: "far", namespace: "prod", ports: [80, 90] }),
  service({ name: "hidden", namespace: "prod", exportTo: ["."] }),
  service({ name: "db", namespace: "data", ports: [5432] }),
];

describe("which Sidecar object a proxy follows", () => {
  const everybody = sidecar("everybody", egress("./*"), "default", 1);
  const mesh = sidecar("mesh", egress("*/*"), "istio-system");
  test.each([
    { is: "none", given: [], name: undefined },
    { is: "that of the root namespace when its own has none", given: [mesh], name: "mesh" },
    { is: "that of its namespace before", given: [mesh, everybody], name: "everybody" },
    {
      is: "one that selects it before, however young",
      given: [everybody, sidecar("web", { ...egress("./*"), ...selecting("web") }, "default", 9)],
      name: "web",
    },
    {
      is: "none that selects others",
      given: [sidecar("job", { ...egress("./*"), ...selecting("job") })],
      name: undefined,
    },
    {
      is: "none of the root namespace that selects",
      given: [sidecar("s", { ...egress("./*"), ...selecting("web") }, "istio-system")],
      name: undefined,
    },
    { is: "none of a third namespace", given: [sidecar("s", egress("./*"), "prod")], name: undefined },
    {
      is: "the oldest of several",
      given: [
        sidecar("b", { ...egress("./*"), ...selecting("web") }, "default", 2),
        sidecar("a", { ...egress("./*"), ...selecting("web") }, "default", 3),
      ],
      name: "b",
    },
  ])("$is", ({ given, name }) => {
    expect(scopeOf(given, { labels: { app: "web" } }).sidecar?.name).toBe(name);
  });

  test("gateways follow none", () => {
    expect(scopeOf([...MESH, everybody], { type: "router" }).sidecar).toBeUndefined();
  });
});

describe("what egress hosts show", () => {
  test.each([
    {
      is: "no Sidecar object: everything exported",
      hosts: undefined,
      sees: ["db.data:5432", "far.prod:80,90", "near.default:80"],
    },
    { is: "every namespace", hosts: ["*/*"], sees: ["db.data:5432", "far.prod:80,90", "near.default:80"] },
    { is: "the own namespace", hosts: ["./*"], sees: ["near.default:80"] },
    { is: "a namespace by name, without what it hides", hosts: ["prod/*"], sees: ["far.prod:80,90"] },
    { is: "a host of any namespace", hosts: ["*/db.data.svc.cluster.local"], sees: ["db.data:5432"] },
    { is: "hosts by wildcard", hosts: ["*/*.prod.svc.cluster.local"], sees: ["far.prod:80,90"] },
    { is: "a host in a namespace that has not got it", hosts: ["data/far.prod.svc.cluster.local"], sees: [] },
    { is: "nothing", hosts: ["~/*"], sees: [] },
    { is: "all but a namespace", hosts: ["*/*", "~prod/*"], sees: ["db.data:5432", "near.default:80"] },
    { is: "all but the own namespace", hosts: ["*/*", "~./*"], sees: ["db.data:5432", "far.prod:80,90"] },
    {
      is: "all but a host of whatever namespace",
      hosts: ["*/*", "~/db.data.svc.cluster.local"],
      sees: ["far.prod:80,90", "near.default:80"],
    },
    { is: "several", hosts: ["./*", "data/*"], sees: ["db.data:5432", "near.default:80"] },
  ])("$is", ({ hosts, sees }) => {
    const scope = scopeOf([...MESH, ...(hosts === undefined ? [] : [sidecar("s", egress(...hosts))])]);
    expect(shown(scope)).toEqual(sees);
    expect(scope.egress).toHaveLength(1);
    expect(shown(scope.egress[0] as EgressListener)).toEqual(sees);
  });

  test("a Sidecar object without egress limits nothing", () => {
    const ingress = [{ port: { number: 80, protocol: "HTTP", name: "http" }, defaultEndpoint: "127.0.0.1:80" }];
    expect(shown(scopeOf([...MESH, sidecar("s", { ingress })]))).toHaveLength(3);
  });

  test("a listener with a port shows that port only; the one for other ports is the last", () => {
    const listeners = [
      { port: { number: 90, protocol: "HTTP", name: "p" }, bind: "127.0.0.9", captureMode: "NONE", hosts: ["*/*"] },
      { hosts: ["./*"] },
    ];
    const scope = scopeOf([...MESH, sidecar("s", { egress: listeners })]);
    expect(scope.egress.map(({ port, bind, captureMode }) => [port?.number, bind, captureMode])).toEqual([
      [90, "127.0.0.9", "NONE"],
      [undefined, "", "DEFAULT"],
    ]);
    expect(scope.egress.map(shown)).toEqual([["far.prod:90"], ["near.default:80"]]);
    expect(shown(scope)).toEqual(["far.prod:90", "near.default:80"]);
  });

  test("ports that two listeners show are together in the scope", () => {
    const port = (number: number) => ({ number, protocol: "HTTP", name: `p${number}` });
    const listeners = [
      { port: port(90), hosts: ["prod/*"] },
      { port: port(80), hosts: ["prod/*"] },
    ];
    const scope = scopeOf([...MESH, sidecar("s", { egress: listeners })]);
    expect(shown(scope)).toEqual(["far.prod:80,90"]);
    expect(scope.services[0]).toBe(scope.snapshot.services.find(({ name }) => name === "far"));
  });
});

describe("one host in several namespaces", () => {
  const host = "api.example";
  const twice = [
    service({ name: "old", namespace: "data", host, created: 1 }),
    service({ name: "young", namespace: "prod", host, created: 2 }),
  ];
  const own = service({ name: "own", host, created: 9 });
  test.each([
    { is: "the oldest", objects: twice, owner: "data" },
    { is: "the own before", objects: [...twice, own], owner: "default" },
    { is: "the one that is imported", objects: [...twice, own, sidecar("s", egress("prod/*"))], owner: "prod" },
    {
      is: "the own of those imported",
      objects: [...twice, own, sidecar("s", egress("prod/*", "./*"))],
      owner: "default",
    },
  ])("$is", ({ objects, owner }) => {
    const scope = scopeOf(objects);
    expect(scope.services.map(({ namespace }) => namespace)).toEqual([owner]);
    expect(scope.service(host)?.namespace).toBe(owner);
  });
});

describe("virtual services of a listener", () => {
  const far = virtualService("far", ["far"], { namespace: "prod" });
  const names = (listener: EgressListener | undefined) => listener?.virtualServices.map(({ object }) => object.name);

  test.each([
    { hosts: ["prod/*"], sees: ["far"] },
    { hosts: ["*/far.prod.svc.cluster.local"], sees: ["far"] },
    { hosts: ["*/*.prod.svc.cluster.local"], sees: ["far"] },
    { hosts: ["./*"], sees: [] },
    { hosts: ["prod/near.default.svc.cluster.local"], sees: [] },
  ])("egress hosts $hosts show $sees", ({ hosts, sees }) => {
    expect(names(scopeOf([...MESH, far, sidecar("s", egress(...hosts))]).egress[0])).toEqual(sees);
  });

  test("a rule for a wildcard is shown where a host under it is", () => {
    const wide = virtualService("wide", ["*.prod.svc.cluster.local"], { namespace: "prod" });
    expect(names(scopeOf([...MESH, wide, sidecar("s", egress("prod/far.prod.svc.cluster.local"))]).egress[0])).toEqual([
      "wide",
    ]);
  });

  test("bring their destinations into the scope, not into the listener", () => {
    const to = (host: string, port?: number) => ({ destination: { host, ...(port && { port: { number: port } }) } });
    const rule = virtualService("near", ["near"], {
      http: [
        { match: [{ uri: { prefix: "/x" } }], route: [to("far.prod.svc.cluster.local", 90)] },
        { route: [to("near")], mirror: { host: "db.data.svc.cluster.local" } },
        { match: [{ uri: { prefix: "/h" } }], route: [to("hidden.prod.svc.cluster.local")] },
      ],
    });
    const scope = scopeOf([...MESH, rule, sidecar("s", egress("./*"))]);
    expect(shown(scope)).toEqual(["db.data:5432", "far.prod:90", "near.default:80"]);
    expect(shown(scope.egress[0] as EgressListener)).toEqual(["near.default:80"]);
  });

  test("tcp and tls destinations count as well", () => {
    const route = (host: string) => [{ destination: { host, port: { number: 80 } } }];
    const rule = virtualService("near", ["near.default.svc.cluster.local"], {
      http: [],
      tcp: [{ route: route("far.prod.svc.cluster.local") }],
      tls: [
        {
          match: [{ sniHosts: ["near.default.svc.cluster.local"] }],
          route: [{ destination: { host: "db.data.svc.cluster.local" } }],
        },
      ],
    });
    expect(shown(scopeOf([...MESH, rule, sidecar("s", egress("./*"))]))).toEqual([
      "db.data:5432",
      "far.prod:80",
      "near.default:80",
    ]);
  });
});

describe("traffic to unknown places", () => {
  test.each([
    { is: "the mesh's default", spec: {}, meshYaml: undefined, mode: "ALLOW_ANY" },
    { is: "the mesh's own", spec: {}, meshYaml: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}", mode: "REGISTRY_ONLY" },
    {
      is: "the Sidecar object's",
      spec: { outboundTrafficPolicy: { mode: "ALLOW_ANY" } },
      meshYaml: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}",
      mode: "ALLOW_ANY",
    },
  ])("follows $is: $mode", ({ spec, meshYaml, mode }) => {
    const scope = scopeOf([sidecar("s", { ...egress("./*"), ...spec })], {}, meshYaml);
    expect(scope.outboundTrafficPolicy.mode).toBe(mode);
  });

  test("an egress proxy is named in full, beside the object that names it", () => {
    const outboundTrafficPolicy = { mode: "ALLOW_ANY", egressProxy: { host: "out", port: { number: 80 } } };
    const own = scopeOf([sidecar("s", { ...egress("./*"), outboundTrafficPolicy })]);
    expect(own.outboundTrafficPolicy.egressProxy?.host).toBe("out.default.svc.cluster.local");
    const everybody = scopeOf([sidecar("s", { ...egress("./*"), outboundTrafficPolicy }, "istio-system")]);
    expect(everybody.outboundTrafficPolicy.egressProxy?.host).toBe("out.istio-system.svc.cluster.local");
  });
});

describe("a service by its host", () => {
  test("several objects may share the ports of one host", () => {
    const scope = scopeOf([
      service({ name: "a", host: "dup.example", ports: [80] }),
      service({ name: "b", host: "dup.example", ports: [80, 81] }),
    ]);
    expect(scope.service("dup.example")?.name).toBe("a");
    expect(scope.service("dup.example", 80)?.name).toBe("a");
    expect(scope.service("dup.example", 81)?.name).toBe("b");
    expect(scope.service("dup.example", 82)).toBeUndefined();
    expect(scope.service("other.example")).toBeUndefined();
  });
});
