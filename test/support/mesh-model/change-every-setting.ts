import fc from "fast-check";
import { defaultMeshConfig } from "../../../src/istio-api/mesh-config/mesh-config.ts";
import { applyMeshConfig } from "../../../src/istio-api/mesh-config/parse-mesh-config.ts";
import { meshConfigProblems } from "../../../src/istio-api/mesh-config/validate-mesh-config.ts";
import { TABLES as MESH_CONFIG } from "../../../src/protobuf/gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../../../src/protobuf/gen/tables/proxy-config.ts";
import { MessageTables } from "../../../src/protobuf/message-tables.ts";
import { generationRules } from "../../../src/settings/generations.ts";
import { type ChangedFields, openWorld } from "./change-every-field.ts";
import { createTestMesh } from "./create-test-mesh.ts";
import { BASES, SELECTING, SERVICES } from "./every-kind-mesh.ts";
import { type FieldPath, fieldChanges, fieldName, fieldPaths, formatFieldPath } from "./field-changes.ts";
import { documents, type TestObject } from "./test-objects.ts";

const TABLES = new MessageTables(PROXY_CONFIG, MESH_CONFIG);
const RULES = generationRules("master");
const OTEL = "otel.default.svc.cluster.local";

/** With members that others hang from; the provider that is changed is the one that everything names. */
const BASE = {
  accessLogFile: "/dev/stdout",
  enableTracing: true,
  extensionProviders: [
    { name: "any", opentelemetry: { service: OTEL, port: 80 } },
    { name: "log", envoyFileAccessLog: { path: "/dev/stdout" } },
  ],
  defaultProviders: { tracing: ["any"], accessLogging: ["log", "any"], metrics: ["any"] },
  outboundTrafficPolicy: { mode: "ALLOW_ANY" },
  localityLbSetting: { enabled: true },
  defaultConfig: { discoveryAddress: "istiod:15012" },
};

/** Who asks the provider. */
const ASKING: TestObject = {
  kind: "AuthorizationPolicy",
  name: "ask",
  spec: { action: "CUSTOM", provider: { name: "any" }, rules: [{ to: [{ operation: { paths: ["/ask"] } }] }] },
};

interface SettingsSweep {
  readonly seed: number;
  /** Every field of every message; else those of MeshConfig itself and some more, others with another seed. */
  readonly isDeep: boolean;
}

/** Fields that a short sweep takes of all those inside of messages. */
const SOME = 10;

/**
 * Sets and takes away fields of MeshConfig, one at a time, in a mesh with objects of every kind. After each step clients of every
 * sort hold what a control plane without any past would send them.
 */
export async function changeEverySetting({ seed, isDeep }: SettingsSweep): Promise<ChangedFields> {
  const mesh = createTestMesh(
    documents(...SERVICES, SELECTING, ...Object.values(BASES).flat(), ASKING),
    JSON.stringify(BASE),
  );
  const world = await openWorld(mesh);
  const [changed, unchanged, shown] = [new Set<string>(), new Set<string>(), new Set<string>()];
  try {
    for (const path of pathsOf(seed, isDeep)) {
      const name = formatFieldPath(path);
      // The next field's change takes this one away again.
      const [config] = fieldChanges(BASE, path, isValid);
      (config === undefined ? unchanged : changed).add(name);
      if (config === undefined) continue;
      mesh.setMesh(JSON.stringify(config));
      if (await world.settle(`${name} in ${JSON.stringify(config)}`)) shown.add(name);
    }
    mesh.setMesh(JSON.stringify(BASE));
    await world.settle("all settings as they were");
  } finally {
    world.close();
  }
  return { changed: [...changed], unchanged: [...unchanged], shown: [...shown] };
}

function pathsOf(seed: number, isDeep: boolean): readonly FieldPath[] {
  const paths = fieldPaths(TABLES.message("istio.mesh.v1alpha1.MeshConfig"));
  const byName = new Map(paths.toReversed().map((path) => [fieldName(path), path]));
  if (isDeep) return [...byName.values()];
  const own = paths.filter((path) => path.length === 1);
  const inner = [...byName.values()].filter((path) => path.length > 1);
  const [some = []] = fc.sample(fc.shuffledSubarray(inner, { minLength: SOME, maxLength: SOME }), {
    seed,
    numRuns: 1,
  });
  return [...own, ...some];
}

function isValid(settings: object): boolean {
  const { config, problems } = applyMeshConfig(defaultMeshConfig(RULES), settings, RULES);
  return problems.length === 0 && meshConfigProblems(config, RULES).length === 0;
}
