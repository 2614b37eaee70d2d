import fc from "fast-check";
import { expect, test } from "vitest";
import { askControlPlane } from "../conformance/control-planes/ask-control-plane.ts";
import { kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { type Manifest, objectPath } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const manifests = (...objects: readonly object[]) => objects as readonly Manifest[];

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await kubernetes.apply(ruleDefinitions(["VirtualService", "DestinationRule"]));
  await kubernetes.apply(manifests(namespace("prod"), namespace("istio-system")));
  await kubernetes.apply(
    manifests({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "prod" } }),
  );
  return { kubernetes };
});

const SERVICES = ["s0", "s1", "s2"];
const rule = (kind: string, name: string, spec: object) => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "prod" },
  spec,
});

/** What may be in the cluster: each of it in a few forms, or not at all. */
const POOL: readonly (readonly object[])[] = SERVICES.flatMap((name, at) => {
  const pod = (version: string) =>
    kubePod(`${name}-0`, `10.1.${at}.1`, {
      metadata: { labels: { app: name, version } },
      spec: { containers: [{ name: "app", image: "none" }] },
    });
  const vip = { clusterIP: `10.96.7.${at}` };
  const slice = (...addresses: readonly string[]) =>
    kubeSlice(
      name,
      addresses.map((address) => ({ address })),
    );
  const route = (host: string) => ({ hosts: [name], http: [{ route: [{ destination: { host } }] }] });
  const subsets = [{ name: "v1", labels: { version: "v1" } }];
  return [
    [kubeService(name, vip), kubeService(name, vip, { annotations: { "networking.istio.io/exportTo": "." } })],
    [pod("v1"), pod("v2")],
    [
      kubeSlice(name, [{ address: `10.1.${at}.1`, pod: `${name}-0` }]),
      slice(`10.2.${at}.1`, `10.2.${at}.2`),
      slice(`10.2.${at}.3`),
    ],
    [rule("VirtualService", name, route(name)), rule("VirtualService", name, route("s0"))],
    [rule("DestinationRule", name, { host: name, subsets }), rule("DestinationRule", name, { host: name })],
  ];
});

type Step =
  | { readonly op: "put"; readonly object: object }
  | { readonly op: "remove"; readonly object: object }
  | { readonly op: "fault"; readonly fault: "restart" | "compact" };

const put = fc
  .constantFrom(...POOL)
  .chain((forms) => fc.constantFrom(...forms))
  .map((object): Step => ({ op: "put", object }));
const remove = fc.constantFrom(...POOL).map(([object = {}]): Step => ({ op: "remove", object }));
const change = fc.oneof({ arbitrary: put, weight: 2 }, { arbitrary: remove, weight: 1 });
const fault = fc
  .constantFrom("restart" as const, "compact" as const)
  .map((kind): Step => ({ op: "fault", fault: kind }));
const changes = fc.array(change, { minLength: 12, maxLength: 12 });
/** Changes while the server runs, and around its faults. */
const history = fc.tuple(changes, fault, changes, fault, changes).map((parts) => parts.flat());

async function restart(kubernetes: Kubernetes): Promise<void> {
  await kubernetes.kill();
  await kubernetes.restart();
}

async function run(kubernetes: Kubernetes, step: Step): Promise<void> {
  if (step.op === "fault") return step.fault === "compact" ? kubernetes.compact() : restart(kubernetes);
  if (step.op === "put") return kubernetes.apply(manifests(step.object));
  const path = await objectPath(kubernetes.api, step.object as Manifest);
  const { status } = await kubernetes.api.ask({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
  expect([200, 202, 404]).toContain(status);
}

const NODES = SERVICES.map((name, at) => ({
  id: `sidecar~10.1.${at}.1~${name}-0.prod~prod.svc.cluster.local`,
  metadata: {
    NAMESPACE: "prod",
    CLUSTER_ID: "Kubernetes",
    INSTANCE_IPS: `10.1.${at}.1`,
    LABELS: { app: name },
    DNS_CAPTURE: "true",
  },
}));

/** Everything that the proxies of all services are sent. */
const answersOf = (port: number) =>
  Promise.all(NODES.map((node) => askControlPlane({ host: "127.0.0.1", port }, node)));

test("a control plane that followed a random history through watch, relist and restart answers as one that starts at its end", async () => {
  const { kubernetes } = place();
  const start = () => startDiscoveryServer({ kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} } });
  await using follower = await start();
  const seed = Date.now() % 1_000_000;
  const histories = fc.sample(history, { seed, numRuns: 2 });
  for (const steps of histories) {
    for (const step of steps) await run(kubernetes, step);
    await using fresh = await start();
    const expected = await answersOf(fresh.ports.grpc);
    await until(`equal answers after the histories of seed ${seed}`, async () =>
      expect(await answersOf(follower.ports.grpc)).toEqual(expected),
    );
  }
}, 300_000);
