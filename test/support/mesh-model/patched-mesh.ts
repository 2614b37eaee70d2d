import { createResourceSource } from "../../../src/envoy-config/create-resource-source.ts";
import { decodeMessage } from "../../../src/protobuf/envoy/index.ts";
import type { Cluster } from "../../../src/protobuf/gen/envoy/config/cluster/v3.ts";
import type { FilterChain, Listener } from "../../../src/protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../../src/protobuf/gen/envoy/config/route/v3.ts";
import { any } from "../../../src/protobuf/wire/discovery.ts";
import { createTestMesh, type TestNode, testNode } from "./create-test-mesh.ts";
import { destinationRule, documents, service, type TestObject, virtualService } from "./test-objects.ts";

/** A mesh of one service whose own proxy is patched, for tests of patches. */
export const HOST = "web.default.svc.cluster.local";
export const OUTBOUND = `outbound|80||${HOST}`;
export const MANAGER = "envoy.filters.network.http_connection_manager";
export const TYPE = "type.googleapis.com/envoy.extensions";
const mesh: readonly TestObject[] = [
  service({ name: "web", endpoints: [{ address: "10.10.0.11", labels: { app: "web" } }] }),
  destinationRule("web", HOST, { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
  virtualService("web", [HOST], {
    http: [
      { name: "old", match: [{ uri: { prefix: "/old" } }], redirect: { uri: "/new" } },
      { name: "main", route: [{ destination: { host: HOST } }] },
    ],
  }),
];

export interface Match {
  readonly [member: string]: unknown;
}
export const patch = (applyTo: string, operation: string, match?: Match, value?: object) => ({
  applyTo,
  ...(match && { match }),
  patch: { operation, ...(value && { value }) },
});
export const envoyFilter = (
  configPatches: readonly object[],
  more: Partial<TestObject> & { spec?: object } = {},
): TestObject => ({
  kind: "EnvoyFilter",
  name: "f",
  ...more,
  spec: { configPatches, ...more.spec },
});

/** What a proxy of the web service gets in a mesh of that service and the objects, as it is on the wire. */
export function generatePatched(objects: readonly TestObject[], node: TestNode = {}) {
  const problems: string[] = [];
  const source = createResourceSource({ onProblem: ({ effect, reason }) => problems.push(`${effect}: ${reason}`) });
  const { snapshot } = createTestMesh(documents(...mesh, ...objects)).take();
  const view = snapshot.view(testNode({ labels: { app: "web" }, ...node }));
  const decode = <Message>(type: string, { resources }: { resources: readonly { any: Buffer }[] }) =>
    resources.map((one) => decodeMessage(type as never, Buffer.from(any.decode(one.any).value)) as Message);
  const clusters = decode<Cluster>("envoy.config.cluster.v3.Cluster", source.all(view, "CDS"));
  const listeners = decode<Listener>("envoy.config.listener.v3.Listener", source.all(view, "LDS"));
  const [route] = decode<RouteConfiguration>(
    "envoy.config.route.v3.RouteConfiguration",
    source.named(view, "RDS", ["80"]),
  );
  return {
    problems,
    source,
    view,
    cluster: (name: string) => clusters.find((one) => one.name === name),
    listener: (name: string) => listeners.find((one) => one.name === name),
    hosts: route?.virtualHosts ?? [],
    routes: (route?.virtualHosts ?? []).find(({ name }) => name === `${HOST}:80`)?.routes ?? [],
    route,
  };
}
export const patched = (...patches: readonly object[]) => generatePatched([envoyFilter(patches)]);

/** Names of the HTTP filters of a chain. */
export const httpFilters = (chain: FilterChain | undefined): readonly (string | undefined)[] => {
  const manager = chain?.filters?.find(({ name }) => name === MANAGER)?.typedConfig as {
    httpFilters?: { name?: string }[];
  };
  return (manager?.httpFilters ?? []).map(({ name }) => name?.replace("envoy.filters.http.", ""));
};
export const outboundHttp = ({ listener }: ReturnType<typeof generatePatched>) =>
  listener("0.0.0.0_80")?.filterChains?.[0];
export const LUA = { name: "envoy.filters.http.lua", typed_config: { "@type": `${TYPE}.filters.http.lua.v3.Lua` } };
export const subFilter = (name: string) => ({
  filterChain: { filter: { name: MANAGER, subFilter: { name: `envoy.filters.http.${name}` } } },
});
