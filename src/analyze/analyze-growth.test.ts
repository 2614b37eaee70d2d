import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../test/support/growth-factor.ts";
import { meshOfCase } from "../../test/support/mesh-model/view-of-case.ts";
import { snapshotOfObjects } from "../discovery/snapshot-of-objects.ts";
import type { AnalyzedMesh } from "./analyzed-mesh.ts";
import { ANALYZERS } from "./analyzers/list.ts";
import { createAnalyzedMesh, toAnalyzed } from "./index.ts";

const NAMESPACES = 10;

/** Objects of every kind that analyzers compare with others, each with a name, host and labels of its own. */
function objectsOf(count: number): readonly object[] {
  const namespaces = Array.from({ length: NAMESPACES }, (_, index) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: `ns-${index}`, labels: { "istio-injection": "enabled" } },
  }));
  const workloads = Array.from({ length: count }, (_, index) => {
    const name = `svc-${index}`;
    const namespace = `ns-${index % NAMESPACES}`;
    const labels = { app: name };
    const object = (kind: string, spec: object, group = "networking") => ({
      apiVersion: `${group}.istio.io/v1`,
      kind,
      metadata: { name, namespace },
      spec,
    });
    const port = { number: 443, name: "https", protocol: "HTTPS" };
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace },
        spec: { clusterIP: "None", selector: labels, ports: [{ name: "http", port: 80 }] },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace, labels },
        spec: { containers: [{ name: "istio-proxy" }] },
      },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace },
        spec: { template: { metadata: { labels }, spec: {} } },
      },
      object("VirtualService", { hosts: [name], http: [{ route: [{ destination: { host: name, subset: "v1" } }] }] }),
      object("DestinationRule", { host: name, subsets: [{ name: "v1", labels }] }),
      object("ServiceEntry", {
        hosts: [`${name}.example`],
        addresses: ["192.0.2.1"],
        resolution: "DNS",
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      }),
      object("Gateway", {
        selector: labels,
        servers: [{ port, hosts: [`${name}.example`], tls: { mode: "SIMPLE", credentialName: name } }],
      }),
      object("Sidecar", { workloadSelector: { labels }, egress: [{ hosts: ["*/*"] }] }),
      object("Telemetry", { selector: { matchLabels: labels } }, "telemetry"),
      object(
        "AuthorizationPolicy",
        { selector: { matchLabels: labels }, rules: [{ from: [{ source: { namespaces: [namespace] } }] }] },
        "security",
      ),
    ];
  });
  return [...namespaces, ...workloads.flat()];
}

function meshOf(count: number): AnalyzedMesh {
  const objects = objectsOf(count).map((body) => toAnalyzed(body as Readonly<Record<string, unknown>>, "default"));
  const settings = meshOfCase(undefined);
  const decoded = objects.map((object) => object.decoded);
  const snapshot = snapshotOfObjects(
    objects.map(({ body }) => body),
    settings,
    { decoded },
  );
  return createAnalyzedMesh({ objects, settings, snapshot, now: 0 });
}

test("the cost of every analyzer grows with the number of objects, not with its square", () => {
  const meshes = new Map([200, 1600].map((count) => [count, meshOf(count)]));
  const run =
    ({ run: analyzeWith }: (typeof ANALYZERS)[number]) =>
    (count: number) => {
      const mesh = meshes.get(count);
      if (mesh !== undefined) analyzeWith(mesh, () => undefined);
    };
  const squares = ANALYZERS.flatMap((analyzer) => {
    // What takes next to no time for all of them cannot be measured, and need not be: what it reads lies further apart in the larger mesh.
    if (leastTime(() => run(analyzer)(1600)) < MEASURABLE_US) return [];
    const factor = growthFactor(run(analyzer), 200);
    // Sorting, and memory that no longer fits a cache, take more than 8 times as long; a square takes 64 times.
    return factor < BELOW_SQUARE ? [] : [`${analyzer.name}: ${factor}`];
  });
  expect(squares).toEqual([]);
});

const MEASURABLE_US = 15_000;

/** Of several runs, in microseconds: a collection of what other tests left counts for the process as well, but not in each of them. */
function leastTime(work: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage().user;
    work();
    return process.cpuUsage().user - before;
  });
  return Math.min(...times);
}
