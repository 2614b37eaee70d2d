import fc from "fast-check";
import type { HostPort } from "../../../src/net/host-port.ts";
import { COMPARED_OBJECT } from "../../support/mesh-model/random-rules.ts";
import { documents, service, type TestObject } from "../../support/mesh-model/test-objects.ts";
import { until } from "../../support/wait/until.ts";
import type { AdsNode } from "../../support/xds/following-client.ts";
import { buildContext } from "../discovery/case-context.ts";
import { compareCase } from "../discovery/compare-case.ts";
import { describeDifference } from "../discovery/difference.ts";
import { text } from "../discovery/json.ts";
import { askControlPlane } from "./ask-control-plane.ts";
import { type ComparedNode, explained } from "./explained-differences.ts";

export interface ComparedSide {
  readonly address: HostPort;
  write(file: string, text: string): void;
}

export interface ComparedMesh {
  readonly mesh: number;
  readonly rules: string;
  /** Of all proxies, each with the node's name in front. */
  readonly differences: readonly string[];
  /** How often each reason explained one. */
  readonly reasons: readonly string[];
}

/** Gives both sides the same random meshes, one after the other, and compares what proxies of them are told. */
export async function* compareRandomMeshes(options: {
  readonly ours: ComparedSide;
  readonly peer: ComparedSide;
  readonly meshes: number;
  readonly seed: number;
  /** The number of the first mesh; earlier ones of the seed are drawn and left out. */
  readonly first: number;
}): AsyncGenerator<ComparedMesh> {
  const { ours, peer, meshes, seed, first } = options;
  const drawn = fc.sample(fc.array(COMPARED_OBJECT, { minLength: 1, maxLength: 10 }), {
    seed,
    numRuns: first + meshes,
  });
  for (const [mesh, objects] of drawn.entries()) {
    if (mesh < first) continue;
    const random = aged(objects);
    const rules = documents(...random, ...markers(`mesh-${mesh}`));
    // Services that stay keep accounts of endpoints that are gone, at the peer: it begins each mesh without any.
    await serve([peer], documents(...markers(`before-${mesh}`)), `before-${mesh}`);
    await serve([ours, peer], rules, `mesh-${mesh}`);
    const context = buildContext(rules);
    const differences: string[] = [];
    const reasons: string[] = [];
    for (const shape of SHAPES) {
      const [wanted, found] = await Promise.all(
        [peer, ours].map(({ address }) => askControlPlane(address, toNode(shape))),
      );
      if (wanted === undefined || found === undefined) continue;
      for (const difference of compareCase({ ...wanted, context }, found).map(describeDifference)) {
        const reason = explained({ difference, node: shape, mesh: random });
        if (reason === undefined) differences.push(`${shape.name}.${shape.namespace}: ${difference}`);
        else reasons.push(reason);
      }
    }
    yield { mesh, rules, differences, reasons };
  }
}

/** One object of each name, all of different ages: which of two equally old ones wins is nobody's promise. */
function aged(objects: readonly TestObject[]): readonly TestObject[] {
  const byKey = new Map(objects.map((one) => [`${one.kind}/${one.namespace ?? "default"}/${one.name}`, one]));
  return [...byKey.values()].map((one, at) => ({ ...one, created: 1000 + at }));
}

const MARKER_NAMESPACE = "marker";

/** A service that only this state has, and a Sidecar that lets one proxy see it whatever the mesh says. */
function markers(state: string): readonly TestObject[] {
  const place = { name: "marker", namespace: MARKER_NAMESPACE, created: 1 };
  return [
    service({ ...place, host: `${state}.marker.example`, exportTo: ["."] }),
    { kind: "Sidecar", ...place, spec: { egress: [{ hosts: ["./*"] }] } },
  ];
}

/** Resolves when each side tells a proxy of the new state. */
async function serve(sides: readonly ComparedSide[], rules: string, state: string): Promise<void> {
  for (const side of sides) side.write("mesh.yaml", rules);
  const shown = `${state}.marker.example`;
  await Promise.all(
    sides.map(({ address }) =>
      until(`${address.host}:${address.port} serves ${state}`, async () => {
        const { clusters } = await askControlPlane(address, toNode(MARKER));
        return clusters.some(({ name }) => text(name).endsWith(shown));
      }),
    ),
  );
}

interface NodeShape extends ComparedNode {
  readonly name: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

const SIDECAR = { isRouter: false, namespace: "default", isIntercepted: true } as const;
const MARKER: NodeShape = { ...SIDECAR, name: "marker", namespace: MARKER_NAMESPACE, address: "10.99.0.1", labels: {} };
const SHAPES: readonly NodeShape[] = [
  { ...SIDECAR, name: "api-1", address: "10.10.0.11", labels: { app: "api" }, metadata: { DNS_CAPTURE: "true" } },
  { ...SIDECAR, name: "a-1", namespace: "prod", address: "10.10.0.12", labels: { app: "a", version: "v1" } },
  { ...SIDECAR, name: "none-1", address: "10.10.1.1", labels: { app: "a" }, isIntercepted: false },
  { ...SIDECAR, name: "edge-1", isRouter: true, namespace: "istio-system", address: "10.10.9.1", labels: { app: "a" } },
];

function toNode({ name, isRouter, namespace, address, labels, isIntercepted, metadata }: NodeShape): AdsNode {
  return {
    id: `${isRouter ? "router" : "sidecar"}~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      CLUSTER_ID: "Kubernetes",
      INSTANCE_IPS: address,
      INTERCEPTION_MODE: isIntercepted ? "REDIRECT" : "NONE",
      SERVICE_ACCOUNT: "a",
      MESH_ID: "cluster.local",
      ISTIO_VERSION: "1.32.0",
      LABELS: { ...labels },
      ...metadata,
    },
  };
}
