import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildContext, type CaseContext } from "./case-context.ts";
import type { Json } from "./json.ts";

/** One folder of the shape that the README beside the cases describes. */
export interface GoldenCase {
  readonly name: string;
  /** Rule objects, or all objects of a Kubernetes cluster. */
  readonly configYaml: string;
  readonly meshYaml: string | undefined;
  readonly node: Json;
  /** Listener names that a proxyless client asked for; other nodes ask for everything. */
  readonly asked: readonly string[] | undefined;
  readonly clusters: readonly Json[];
  readonly endpoints: readonly Json[];
  readonly listeners: readonly Json[];
  readonly routes: readonly Json[];
  readonly nameTable: Json | undefined;
  readonly context: CaseContext;
}

/** Every case below the folder, or the folder itself when it is one. */
export function readGoldenCases(dir: string): readonly GoldenCase[] {
  if (existsSync(join(dir, "node.json"))) return [readGoldenCase(dir, dir.split("/").at(-1) ?? dir)];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(dir, entry.name, "node.json")))
    .map(({ name }) => readGoldenCase(join(dir, name), name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function readGoldenCase(dir: string, name: string): GoldenCase {
  const read = (file: string) => (existsSync(join(dir, file)) ? readFileSync(join(dir, file), "utf8") : undefined);
  const json = <Value>(file: string, absent: Value) =>
    JSON.parse(read(file) ?? JSON.stringify(absent) ?? "null") as Value;
  const configYaml = read("config.yaml") ?? read("objects.yaml") ?? "";
  return {
    name,
    configYaml,
    meshYaml: read("mesh.yaml"),
    node: json<Json>("node.json", {}),
    asked: json<{ listeners?: readonly string[] }>("subscribe.json", {}).listeners,
    clusters: json<readonly Json[]>("clusters.json", []),
    endpoints: json<readonly Json[]>("endpoints.json", []),
    listeners: json<readonly Json[]>("listeners.json", []),
    routes: json<readonly Json[]>("routes.json", []),
    nameTable: json<Json | undefined>("nametable.json", undefined) ?? undefined,
    context: buildContext(configYaml, json<Json>("notes.json", {})),
  };
}
