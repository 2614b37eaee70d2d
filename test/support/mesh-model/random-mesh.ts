import fc from "fast-check";
import type { ProxyView } from "../../../src/mesh-model/push-snapshot.ts";
import type { TestMesh } from "./create-test-mesh.ts";
import {
  destinationRule,
  documents,
  peerAuthentication,
  service,
  type TestObject,
  virtualService,
} from "./test-objects.ts";

/** Few names, so that objects meet each other. */
export const NAMESPACE = fc.constantFrom("default", "prod", "istio-system");
export const NAME = fc.constantFrom("a", "b", "c");
export const HOST = fc.constantFrom(
  "a",
  "b",
  "a.default.svc.cluster.local",
  "b.prod.svc.cluster.local",
  "shared.example",
);
const EXPORT_TO = fc.constantFrom({}, { exportTo: ["."] }, { exportTo: ["*"] }, { exportTo: ["default"] });
const PLACE = { name: NAME, namespace: NAMESPACE };

export const ANY_SERVICE = fc
  .record({
    ...PLACE,
    exportTo: EXPORT_TO,
    isShared: fc.boolean(),
    port: fc.constantFrom(80, 90),
    address: fc.constantFrom("10.10.0.11", "10.10.0.12"),
    account: NAME,
  })
  .map(({ exportTo, isShared, port, address, account, ...place }) =>
    service({
      ...place,
      ...(isShared && { host: "shared.example" }),
      ports: [port],
      endpoints: [{ address, labels: { app: "api" }, serviceAccount: account }],
      ...exportTo,
    }),
  );

const ROUTE_RULE = fc
  .record({ ...PLACE, exportTo: EXPORT_TO, host: HOST, delegate: fc.option(NAME, { nil: undefined }) })
  .map(({ name, namespace, exportTo, host, delegate }) =>
    virtualService(name, [host], {
      namespace,
      ...(delegate && { http: [{ delegate: { name: `delegate-${delegate}` } }] }),
      ...exportTo,
    }),
  );

const DELEGATE = fc.record({ ...PLACE, host: HOST }).map(({ name, namespace, host }): TestObject => {
  const http = [{ route: [{ destination: { host } }] }];
  return { kind: "VirtualService", name: `delegate-${name}`, namespace, spec: { http } };
});

const SERVICE_RULE = fc
  .record({ ...PLACE, host: HOST, subset: NAME, app: fc.option(NAME, { nil: undefined }) })
  .map(({ name, namespace, host, subset, app }) =>
    destinationRule(name, host, {
      namespace,
      subsets: [{ name: subset, labels: {} }],
      ...(app && { workloadSelector: { matchLabels: { app } } }),
    }),
  );

const SIDECAR = fc
  .record({ ...PLACE, hosts: fc.constantFrom("./*", "prod/*", "*/*"), app: fc.option(NAME, { nil: undefined }) })
  .map(({ hosts, app, ...place }): TestObject => {
    const selector = app === undefined ? {} : { workloadSelector: { labels: { app } } };
    return { kind: "Sidecar", ...place, spec: { egress: [{ hosts: [hosts] }], ...selector } };
  });

const MODE = fc
  .record({
    ...PLACE,
    mode: fc.constantFrom("STRICT", "DISABLE", "UNSET"),
    app: fc.constantFrom(undefined, "api", "a"),
  })
  .map(({ name, namespace, mode, app }) =>
    peerAuthentication(name, namespace, { mtls: { mode }, ...(app && { selector: { matchLabels: { app } } }) }),
  );

export const ANY_OBJECT = fc.oneof(ANY_SERVICE, ROUTE_RULE, DELEGATE, SERVICE_RULE, SIDECAR, MODE);

export interface RandomAction {
  readonly object: TestObject;
  readonly isDelete: boolean;
}

/** What a mesh begins with. */
export const ANY_OBJECTS = fc.array(ANY_OBJECT, { maxLength: 8 });
/** What happens to it then, snapshot by snapshot. */
export const ANY_STEPS = fc.array(
  fc.array(fc.record({ object: ANY_OBJECT, isDelete: fc.boolean() }), { minLength: 1, maxLength: 3 }),
  { minLength: 1, maxLength: 4 },
);

export function apply(mesh: TestMesh, actions: readonly RandomAction[]): void {
  for (const { object, isDelete } of actions) {
    const { kind, name, namespace = "default" } = object;
    if (isDelete) mesh.delete({ kind: kind as "Sidecar", namespace, name });
    else mesh.put(documents(object));
  }
}

/** What generators can read of a view, by the types they make from it. */
export function visible({ outbound, inbound, snapshot }: ProxyView) {
  const { services, egress, sidecar } = outbound;
  const rules = services.map((one) => [outbound.destinationRule(one)?.spec, outbound.serviceMtls(one)]);
  const accounts = services.map((one) => snapshot.serviceAccounts(one.key));
  const virtualServices = egress.map((listener) => listener.virtualServices.map(({ spec }) => spec));
  const shown = egress.map((listener) => listener.services);
  const { key: _key, ...served } = inbound;
  const targets = inbound.targets.map((target) => [target.service, target.port, target.targetPort]);
  return {
    CDS: { services, rules, accounts, virtualServices, targets },
    LDS: { shown, virtualServices, sidecar, served: { ...served, targets } },
    RDS: { shown, virtualServices, rules: rules.map(([spec]) => spec) },
    NDS: { shown },
  };
}
