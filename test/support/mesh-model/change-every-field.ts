import fc from "fast-check";
import { decodeObject } from "../../../src/istio-api/decode/decode-object.ts";
import { istioMessage, KINDS, type Kind } from "../../../src/istio-api/kinds.ts";
import { createTestMesh } from "./create-test-mesh.ts";
import { BASES, EVERY_SORT, SELECTING, SERVICES } from "./every-kind-mesh.ts";
import { type FieldPath, fieldChanges, fieldName, fieldPaths, formatFieldPath } from "./field-changes.ts";
import { ANY_AGED_RULE } from "./random-rules.ts";
import { createSettledClients, followClusters } from "./settled-clients.ts";
import { documents, type TestObject } from "./test-objects.ts";

/** What the changes of one kind's fields led to. */
export interface ChangedFields {
  /** Of which some value is good in an object of the kind. */
  readonly changed: readonly string[];
  /** Of which no other value than the one it has is good. */
  readonly unchanged: readonly string[];
  /** That show in what some client is sent. */
  readonly shown: readonly string[];
}

interface Sweep {
  readonly kind: Kind;
  /** Of the random part of the mesh. */
  readonly seed: number;
  /** Every way that leads to a field, in every object of the kind; else each field of a message once. */
  readonly isDeep: boolean;
}

/**
 * Sets, changes and takes away every field of a kind, one at a time, in a mesh with objects of every kind and some random ones. After each
 * step clients of every sort hold what a control plane without any past would send them.
 */
export async function changeEveryField({ kind, seed, isDeep }: Sweep): Promise<ChangedFields> {
  const bases = Object.values(BASES).flat();
  const random = fc
    .sample(ANY_AGED_RULE, { seed, numRuns: 6 })
    .map((object) => ({ ...object, name: `r-${object.name}` }));
  const mesh = createTestMesh(documents(...SERVICES, SELECTING, ...bases, ...random));
  const world = await openWorld(mesh);
  const [changed, unchanged, shown] = [new Set<string>(), new Set<string>(), new Set<string>()];
  try {
    for (const path of pathsOf(kind, isDeep)) {
      const name = formatFieldPath(path);
      for (const base of BASES[kind]) {
        const specs = fieldChanges(base.spec, path, (spec) => isValid({ ...base, spec }));
        for (const spec of [...specs, base.spec]) {
          mesh.put(documents({ ...base, spec }));
          const state = spec === base.spec ? "as it began" : undefined;
          const isShown = await world.settle(`${kind} ${base.name}: ${name} in ${JSON.stringify(spec)}`, state);
          if (isShown) shown.add(name);
        }
        if (specs.length === 0) continue;
        changed.add(name);
        if (!isDeep) break;
      }
      if (!changed.has(name)) unchanged.add(name);
    }
  } finally {
    world.close();
  }
  return { changed: [...changed], unchanged: [...unchanged], shown: [...shown] };
}

function pathsOf(kind: Kind, isDeep: boolean): readonly FieldPath[] {
  const paths = fieldPaths(istioMessage(KINDS[kind].spec));
  if (isDeep) return paths;
  return [...new Map(paths.toReversed().map((path) => [fieldName(path), path])).values()];
}

function isValid(object: TestObject): boolean {
  return decodeObject(JSON.parse(documents(object)), { defaultNamespace: "default" }).object !== undefined;
}

/** Clients of every sort that ask for everything, by both protocols. */
export async function openWorld(mesh: ReturnType<typeof createTestMesh>) {
  const chosen = EVERY_SORT.flatMap((node) => (["sotw", "delta"] as const).map((protocol) => ({ node, protocol })));
  const { clients, settle, close } = createSettledClients(mesh, chosen);
  for (const { client, node } of clients) {
    const isGrpc = node.metadata?.GENERATOR === "grpc";
    if (isGrpc) for (const [type, names] of Object.entries(GRPC_NAMES)) client.want(type as "LDS", { add: names });
    else for (const type of ["CDS", "LDS", "NDS"] as const) client.want(type, { add: ["*"] });
    if (!isGrpc) client.want("RDS", { add: ROUTES });
    if (!isGrpc) client.want("ECDS", { add: EXTENSIONS });
  }
  await settle();
  for (const { client, node } of clients) if (node.metadata?.GENERATOR !== "grpc") followClusters(client);
  await settle();
  return {
    close,
    /** Some client was sent something. */
    settle: async (what: string, state?: string): Promise<boolean> => {
      try {
        return (await settle(state)) > 0;
      } catch (thrown) {
        throw new Error(`after ${what}`, { cause: thrown });
      }
    },
  };
}

const HOSTS = ["a.default", "b.prod", "base.default"].map((name) => `${name}.svc.cluster.local`);
const CLUSTERS = HOSTS.flatMap((host) => ["", "v1"].map((subset) => `outbound|80|${subset}|${host}`));
const GRPC_NAMES = {
  LDS: HOSTS.map((host) => `${host}:80`),
  CDS: CLUSTERS,
  EDS: CLUSTERS,
  RDS: HOSTS.map((host) => `outbound|80||${host}`),
};
const EXTENSIONS = ["default", "istio-system"].map((namespace) => `extensions.istio.io/wasmplugin/${namespace}.base`);
const ROUTES = ["80", "90", "http.80", "https.443.https.tls.istio-system", "a.default.svc.cluster.local:80"];
