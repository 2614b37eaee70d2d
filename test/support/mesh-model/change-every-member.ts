import type { Endpoint } from "../../../src/mesh-model/endpoint.ts";
import { type Service, type ServicePort, serviceKey } from "../../../src/mesh-model/service.ts";
import type { RegisteredWorkload } from "../../../src/mesh-model/service-registry.ts";
import { openWorld } from "./change-every-field.ts";
import { createTestMesh } from "./create-test-mesh.ts";
import { BASES, SELECTING, SERVICES } from "./every-kind-mesh.ts";
import { createScriptedPlatform, type PlatformState } from "./scripted-platform.ts";
import { documents, type TestObject } from "./test-objects.ts";

/** Other values of each member; the compiler asks for those of a member that is new. */
type Others<Of> = { readonly [Member in keyof Required<Of>]: readonly Of[Member][] };

const PORT: Others<ServicePort> = {
  name: ["grpc"],
  port: [81],
  protocol: ["TCP", "GRPC"],
  calledPort: [8088],
};

const SERVICE: Others<Omit<Service, "key" | "ports">> = {
  hostname: ["other.default.svc.cluster.local", "*.wild.example"],
  name: ["renamed"],
  namespace: ["prod"],
  provider: ["Consul"],
  clusterId: ["second"],
  addresses: [[], ["10.96.8.2"], ["10.96.8.1", "fd00::8"]],
  isCalledAnywhere: [true],
  clusterAddresses: [new Map([["Kubernetes", ["10.96.8.3"]]])],
  autoAllocated: [{ ipv4: "240.240.0.8", ipv6: "2001:2::8" }],
  resolution: ["Passthrough", "DNSLB", "DNSRoundRobinLB", "Alias", "DynamicDNS"],
  meshExternal: [true],
  subjectAltNames: [["spiffe://cluster.local/ns/x/sa/y"]],
  creationTime: [1000],
  labels: [{ topic: "x" }],
  exportTo: [["."], ["prod"], ["~"]],
  selector: [{ app: "api" }],
  source: [{ kind: "ServiceEntry", namespace: "default", name: "x" }],
  publishNotReady: [true],
  externalName: ["a.default.svc.cluster.local"],
  aliases: [["alias.default.svc.cluster.local"]],
  trafficDistribution: ["PreferSameZone", "PreferSameNode"],
  nodeLocal: [true],
  externalAddresses: [["192.0.2.8"]],
};

const ENDPOINT: Others<Endpoint> = {
  addresses: [["10.10.8.9"], ["10.10.8.1", "fd00::81"], ["/var/run/app.sock"], ["name.example"]],
  servicePortName: ["tcp"],
  port: [8089, 0],
  labels: [{ app: "api" }, { app: "web", version: "v2" }, {}],
  serviceAccount: ["spiffe://cluster.local/ns/default/sa/other", ""],
  network: ["n2"],
  locality: [{ region: "r2", zone: "z1", subzone: "" }],
  clusterId: ["second"],
  weight: [7],
  tlsMode: ["disabled"],
  namespace: ["prod"],
  workloadName: ["other"],
  hostName: ["web-0"],
  subDomain: ["web"],
  nodeName: ["node-1"],
  health: ["Unknown", "UnHealthy", "Draining", "Terminating"],
};

const WORKLOAD: Others<RegisteredWorkload> = {
  labels: [{ app: "api" }, {}],
  locality: [{ region: "r2", zone: "z1", subzone: "" }],
  network: ["n2"],
};

const OWN: Omit<Service, "key"> = {
  hostname: "platform.default.svc.cluster.local",
  name: "platform",
  namespace: "default",
  provider: "Kubernetes",
  clusterId: "Kubernetes",
  ports: [
    { name: "http", port: 80, protocol: "HTTP" },
    { name: "tcp", port: 90, protocol: "TCP" },
  ],
  addresses: ["10.96.8.1"],
  resolution: "ClientSideLB",
  meshExternal: false,
  subjectAltNames: [],
  creationTime: 0,
  labels: {},
  exportTo: [],
};
const AT: Endpoint = {
  addresses: ["10.10.8.1"],
  servicePortName: "http",
  port: 8080,
  labels: { app: "web", version: "v1" },
  serviceAccount: "spiffe://cluster.local/ns/default/sa/web",
  network: "",
  locality: { region: "r1", zone: "z1", subzone: "" },
  clusterId: "Kubernetes",
  weight: 0,
  tlsMode: "istio",
  namespace: "default",
  workloadName: "web",
  health: "Healthy",
};
/** At the address of a client. */
const LOCAL: Endpoint = { ...AT, addresses: ["10.10.0.11"] };
const REGISTERED: RegisteredWorkload = { labels: { app: "web" }, locality: AT.locality, network: "" };

/** Of the host and its subsets, so that labels of endpoints count; by locality. */
const RULE: TestObject = {
  kind: "DestinationRule",
  name: "platform",
  spec: {
    host: "platform.default.svc.cluster.local",
    trafficPolicy: {
      outlierDetection: { consecutive5xxErrors: 5 },
      loadBalancer: { localityLbSetting: { enabled: true } },
    },
    subsets: [{ name: "v1", labels: { version: "v1" } }],
  },
};

interface MemberSweep {
  /** All values, and back to the first state after each; else one value of each member, from one change to the next. */
  readonly isDeep: boolean;
}

/**
 * Changes every member of a service, of its ports and endpoints and of a registered workload, one at a time. After each step clients of
 * every sort hold what a control plane without any past would send them. Returns the members of which a change shows.
 */
export async function changeEveryMember({ isDeep }: MemberSweep): Promise<readonly string[]> {
  const first = stateOf(OWN, [LOCAL, AT], REGISTERED);
  const platform = createScriptedPlatform(first);
  // Ingress listeners of Sidecar objects would replace what follows from services.
  const bases = Object.values(BASES).flatMap((objects) => objects.filter(({ kind }) => kind !== "Sidecar"));
  const mesh = createTestMesh(documents(...SERVICES, SELECTING, ...bases, RULE), undefined, platform);
  const world = await openWorld(mesh);
  const shown = new Set<string>();
  try {
    for (const { member, state } of changes(isDeep)) {
      platform.set(state);
      if (await world.settle(`${member} of the platform`)) shown.add(member);
      if (!isDeep) continue;
      platform.set(first);
      await world.settle(`${member} as it was`, "as it began");
    }
    platform.set(first);
    await world.settle("all members as they were");
  } finally {
    world.close();
  }
  return [...shown];
}

interface Change {
  readonly member: string;
  readonly state: PlatformState;
}

function changes(isDeep: boolean): readonly Change[] {
  const [http, ...more] = OWN.ports;
  const all = [
    ...each("service", OWN, SERVICE, (service) => stateOf(service, [LOCAL, AT], REGISTERED)),
    ...each("port", http as ServicePort, PORT, (port) =>
      stateOf({ ...OWN, ports: [port, ...more] }, [LOCAL, AT], REGISTERED),
    ),
    ...each("endpoint", AT, ENDPOINT, (endpoint) => stateOf(OWN, [LOCAL, endpoint], REGISTERED)),
    ...each("own endpoint", LOCAL, ENDPOINT, (endpoint) => stateOf(OWN, [endpoint, AT], REGISTERED)),
    ...each("workload", REGISTERED, WORKLOAD, (workload) => stateOf(OWN, [LOCAL, AT], workload)),
  ];
  return isDeep ? all : [...new Map(all.toReversed().map((change) => [change.member, change])).values()];
}

function each<Of extends object>(
  what: string,
  base: Of,
  others: Readonly<Record<string, readonly unknown[]>>,
  state: (changed: Of) => PlatformState,
): readonly Change[] {
  return Object.entries(others).flatMap(([member, values]) =>
    values.map((value) => ({ member: `${what}.${member}`, state: state({ ...base, [member]: value }) })),
  );
}

const KNOWN = new Map<unknown, Service>();
const ENDPOINTS = new Map<unknown, Map<unknown, readonly Endpoint[]>>();

/** Equal parts are the same values, as registries have them. */
function stateOf(own: Omit<Service, "key">, endpoints: readonly [Endpoint, Endpoint], workload: RegisteredWorkload) {
  const service = KNOWN.get(own) ?? { ...own, key: serviceKey(own) };
  KNOWN.set(own, service);
  const byFirst = ENDPOINTS.get(endpoints[0]) ?? new Map<unknown, readonly Endpoint[]>();
  ENDPOINTS.set(endpoints[0], byFirst);
  const list = byFirst.get(endpoints[1]) ?? endpoints;
  byFirst.set(endpoints[1], list);
  return { services: [{ service, endpoints: list }], workloads: new Map([["10.10.0.11", workload]]) };
}
