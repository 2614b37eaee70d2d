import { expect, test } from "vitest";
import { endpointOf } from "../../../test/support/discovery/endpoint.ts";
import { createWorld, NODE } from "../../../test/support/discovery/world.ts";
import { derive } from "../../mesh-model/derive/derived.ts";
import type { ClusterLoadAssignment } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import { ANY_SCOPE } from "../shared/worlds.ts";
import { generateEndpoints, isKnownAssignment } from "./load-assignment.ts";

const WEB = "outbound|80||web.example";
const entry = (endpoints: string, more = "") => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: default}
spec:
  hosts: [web.example]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}, {number: 90, name: tcp, protocol: TCP}]
  endpoints: [${endpoints}]
  ${more}
---`;
const rule = (spec: string) => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: default}
spec: {host: web.example, ${spec}}
---`;
const selected = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: default}
spec: {hosts: [web.example], resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP}], workloadSelector: {labels: {app: web}}}
---`;
const workload = (name: string, isHealthy: boolean) => `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: ${name}, namespace: default, annotations: {proxy.istio.io/health-checks-enabled: "true"}}
spec: {address: ${isHealthy ? "10.0.0.1" : "10.0.0.2"}, labels: {app: web}}
status: {conditions: [{type: Healthy, status: "${isHealthy ? "True" : "False"}"}]}
---`;
const peer = (spec: string) => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: web, namespace: default}
spec: ${spec}
---`;

const assigned = (yaml: string, name = WEB) => generateEndpoints(createWorld(yaml).scope(), name);

/** `address:port` of every endpoint, with its priority where it is not the first. */
function addresses({ endpoints = [] }: ClusterLoadAssignment): readonly string[] {
  return endpoints.flatMap(({ lbEndpoints = [], priority = 0 }) =>
    lbEndpoints.map(({ endpoint }) => {
      const { address, portValue } = endpoint?.address?.socketAddress ?? {};
      return `${address}:${portValue}${priority === 0 ? "" : ` after ${priority}`}`;
    }),
  );
}

const TWO =
  "{address: 10.0.0.1, labels: {version: v1}}, {address: 10.0.0.2, ports: {http: 9000}, labels: {version: v2}}";

test("endpoints of the port are listed with the ports they listen on", () => {
  expect(assigned(entry(TWO))).toEqual({
    clusterName: WEB,
    endpoints: [
      {
        locality: {},
        loadBalancingWeight: 2,
        lbEndpoints: [
          { endpoint: { address: { socketAddress: { address: "10.0.0.1", portValue: 8080 } } } },
          { endpoint: { address: { socketAddress: { address: "10.0.0.2", portValue: 9000 } } } },
        ],
      },
    ],
  });
  expect(addresses(assigned(entry(TWO), "outbound|90||web.example"))).toEqual(["10.0.0.1:90", "10.0.0.2:90"]);
});

test.each([
  "outbound|80||unknown.example",
  "outbound|81||web.example",
  "outbound|80|v9|web.example",
  "inbound|8080||",
  "PassthroughCluster",
  "",
])("%j has no endpoints, but an answer", (clusterName) => {
  expect(assigned(entry(TWO) + rule("subsets: [{name: v1, labels: {version: v1}}]"), clusterName)).toEqual({
    clusterName,
  });
});

test.each([
  { subset: "v1", labels: "{version: v1}", gives: ["10.0.0.1:8080"] },
  { subset: "all", labels: "{}", gives: ["10.0.0.1:8080", "10.0.0.2:9000"] },
  { subset: "nobody", labels: "{version: v9}", gives: [] },
])("the subset of labels $labels has $gives", ({ subset, labels, gives }) => {
  const yaml = entry(TWO) + rule(`subsets: [{name: ${subset}, labels: ${labels}}]`);
  expect(addresses(assigned(yaml, `outbound|80|${subset}|web.example`))).toEqual(gives);
});

test("objects that share a host have the endpoints of their own ports", () => {
  const other = entry("{address: 10.0.0.7}")
    .replace("name: web,", "name: zoo,")
    .replace(
      "{number: 80, name: http, protocol: HTTP, targetPort: 8080}",
      "{number: 81, name: http-b, protocol: HTTP}",
    );
  expect(addresses(assigned(entry(TWO) + other, "outbound|81||web.example"))).toEqual(["10.0.0.7:81"]);
});

test("places are apart and sorted, and weigh as much as their endpoints", () => {
  const { endpoints } = assigned(
    entry(
      "{address: 10.0.0.2, locality: r2/z1, weight: 5}, {address: 10.0.0.3, locality: r2/z1}, {address: 10.0.0.1, locality: r1}",
    ),
  );
  expect(endpoints?.map(({ locality, loadBalancingWeight }) => [locality, loadBalancingWeight])).toEqual([
    [{ region: "r1" }, 1],
    [{ region: "r2", zone: "z1" }, 6],
  ]);
});

test("weights that do not fit together are cut to what fits", () => {
  const { endpoints = [] } = assigned(
    entry("{address: 10.0.0.1, weight: 4294967295}, {address: 10.0.0.2, weight: 4294967295}, {address: 10.0.0.3}"),
  );
  expect(endpoints[0]?.loadBalancingWeight).toBe(2 * 1431655765 + 1);
});

const PLACES =
  "{address: 10.0.0.1, locality: r1/z1/s1}, {address: 10.0.0.2, locality: r1/z2}, {address: 10.0.0.3, locality: r2}";

test.each([
  { policy: "loadBalancer: {}", gives: ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"] },
  { policy: "outlierDetection: {}", gives: ["10.0.0.1:8080", "10.0.0.2:8080 after 1", "10.0.0.3:8080 after 2"] },
  {
    policy: "loadBalancer: {localityLbSetting: {enabled: false}}, outlierDetection: {}",
    gives: ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"],
  },
  {
    policy: "loadBalancer: {localityLbSetting: {distribute: [{from: r1, to: {r2: 100}}]}}",
    gives: ["10.0.0.3:8080"],
  },
  {
    policy:
      "loadBalancer: {localityLbSetting: {failoverPriority: [topology.kubernetes.io/region]}}, outlierDetection: {}",
    gives: ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080 after 1"],
  },
])("with $policy a client in r1 tries $gives", ({ policy, gives }) => {
  expect(addresses(assigned(entry(PLACES) + rule(`trafficPolicy: {${policy}}`)))).toEqual(gives);
});

test("objects that describe one host in one namespace share their endpoints", () => {
  const second = entry("{address: 10.0.0.9}").replace("name: web", "name: second");
  const elsewhere = entry("{address: 10.0.0.7}").replace("namespace: default", "namespace: other");
  expect(addresses(assigned(entry("{address: 10.0.0.1}") + second + elsewhere))).toEqual([
    "10.0.0.9:8080",
    "10.0.0.1:8080",
  ]);
});

test("unhealthy workloads are shown as such, and left out where a rule would use them in a panic", () => {
  const yaml = selected + workload("one", true) + workload("two", false);
  const { endpoints = [] } = assigned(yaml);
  expect(endpoints[0]?.lbEndpoints?.map(({ healthStatus }) => healthStatus)).toEqual([undefined, "UNHEALTHY"]);
  const panicking = rule("trafficPolicy: {outlierDetection: {minHealthPercent: 1}}");
  expect(addresses(assigned(yaml + panicking))).toEqual(["10.0.0.1:80"]);
});

test.each([
  { health: "Healthy", labels: {}, isOffered: true },
  { health: "Terminating", labels: { "istio.io/persistent-session": "c" }, isOffered: false },
  { health: "Draining", labels: {}, isOffered: false },
  { health: "Draining", labels: { "istio.io/persistent-session": "c" }, isOffered: true },
  { health: "Draining", labels: { "istio.io/persistent-session-header": "x" }, isOffered: true },
] as const)(
  "a $health endpoint of a service with labels $labels is offered: $isOffered",
  ({ health, labels, isOffered }) => {
    const scope = createWorld(entry("{address: 10.0.0.1}")).scope();
    const service = scope.service("web.example");
    if (service === undefined) throw new Error("no web.example");
    const endpoints = () => [endpointOf("10.0.0.1", { health })];
    const platform = {
      ...scope,
      service: () => ({ ...service, labels }),
      snapshot: { ...scope.snapshot, endpoints },
    };
    expect(addresses(generateEndpoints(platform, WEB))).toEqual(isOffered ? ["10.0.0.1:80"] : []);
  },
);

test("names stay for proxies that look them up", () => {
  const dns = entry("{address: one.example}").replace("resolution: STATIC", "resolution: DNS");
  expect(addresses(assigned(dns))).toEqual(["one.example:8080"]);
});

const ABLE = "{address: 10.0.0.1, serviceAccount: web, labels: {app: web}}, {address: 10.0.0.2}";

test.each([
  { what: "no rule", yaml: "", gives: [true, false] },
  { what: "ISTIO_MUTUAL", yaml: rule("trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}"), gives: [true, false] },
  { what: "SIMPLE", yaml: rule("trafficPolicy: {tls: {mode: SIMPLE}}"), gives: [false, false] },
  { what: "DISABLE", yaml: rule("trafficPolicy: {tls: {mode: DISABLE}}"), gives: [false, false] },
  {
    what: "DISABLE for the workload",
    yaml: peer("{selector: {matchLabels: {app: web}}, mtls: {mode: DISABLE}}"),
    gives: [false, false],
  },
  {
    what: "DISABLE for its port",
    yaml: peer("{selector: {matchLabels: {app: web}}, mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: DISABLE}}}"),
    gives: [false, false],
  },
  {
    what: "DISABLE for another port",
    yaml: peer("{selector: {matchLabels: {app: web}}, mtls: {mode: STRICT}, portLevelMtls: {9999: {mode: DISABLE}}}"),
    gives: [true, false],
  },
])("with $what the endpoints have mutual TLS: $gives", ({ yaml, gives }) => {
  const { endpoints = [] } = assigned(entry(ABLE) + yaml);
  expect(endpoints[0]?.lbEndpoints?.map(({ metadata }) => metadata !== undefined)).toEqual(gives);
});

/** Whether endpoints are still good after the change; then they must be equal to what is made again. */
function staysTheSame(yaml: string, put: string, node = NODE): boolean {
  const world = createWorld(yaml);
  const look = (seenBy = NODE) => {
    const scope = world.scope(seenBy);
    return { scope, made: derive(ANY_SCOPE, scope, (reader) => generateEndpoints(reader, WEB)) };
  };
  const before = look();
  world.put(put);
  const after = look(node);
  const isSame = before.made.holdsIn(after.scope);
  if (isSame) expect(after.made.value).toEqual(before.made.value);
  return isSame;
}

const elsewhere = { ...NODE, locality: { region: "r2", zone: "z1", subZone: "" } };
const OUTLIERS = rule("trafficPolicy: {outlierDetection: {}}");

test.each([
  { change: "nothing", yaml: entry(ABLE), put: entry(ABLE), same: true },
  { change: "another endpoint", yaml: entry(ABLE), put: entry(TWO), same: false },
  { change: "a rule", yaml: entry(ABLE), put: OUTLIERS, same: false },
  { change: "a policy that changes nothing", yaml: entry(ABLE), put: peer("{mtls: {mode: STRICT}}"), same: false },
  { change: "a policy that switches off", yaml: entry(ABLE), put: peer("{mtls: {mode: DISABLE}}"), same: false },
  { change: "another place of the client", yaml: entry(PLACES), put: "", node: elsewhere, same: true },
  { change: "another place that matters", yaml: entry(PLACES) + OUTLIERS, put: "", node: elsewhere, same: false },
])("after $change endpoints are to stay the same: $same", ({ yaml, put, node, same }) => {
  expect(staysTheSame(yaml, put, node)).toBe(same);
});

test("nothing is known of an unknown name", () => {
  expect(isKnownAssignment(createWorld("").scope(), WEB)).toBe(false);
});
