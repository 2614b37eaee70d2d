import { posix } from "node:path";
import { isJsonObject } from "../../base/json-object.ts";
import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { checkSchema, type Path, type SchemaProblem } from "./check-schema.ts";
import { serviceProblems, twinProblems } from "./check-services.ts";
import { type ImportedServices, importCompose } from "./import-compose.ts";
import type { InlineObject, MeshFile, Position } from "./mesh-file.ts";
import { MESH_SCHEMA } from "./mesh-schema.ts";
import { parseEnvFile } from "./parse-env-file.ts";
import type { Locate, RawFile, RawService, RawWorkload } from "./raw-mesh-file.ts";
import { type EnvFiles, toService } from "./read-services.ts";
import { resolveValues } from "./resolve-values.ts";

export interface FileProblem extends Position {
  readonly text: string;
}

/** What a mesh file refers to beside its own text. */
export interface FileSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A path as the file has it, relative to the file. Throws with a reason for the user. */
  readText(path: string): string;
}

const TEXT_ALONE: FileSurroundings = {
  env: {},
  readText: () => {
    throw new Error("other files are not read here");
  },
};

export type ParsedMeshFile = { readonly file: MeshFile } | { readonly problems: readonly FileProblem[] };

/** The text of a mesh.yaml with what it refers to. All problems at once, each with its position. */
export function parseMeshFile(text: string, around: FileSurroundings = TEXT_ALONE): ParsedMeshFile {
  if (/^apiVersion:/m.test(text) && /^kind:/m.test(text)) return { problems: [OBJECTS] };
  const yaml = locateYaml(text);
  if ("problem" in yaml) return { problems: [{ ...yaml.position, text: `YAML: ${yaml.problem}` }] };
  if (yaml.data === null || yaml.data === undefined) {
    return { problems: [{ line: 1, column: 1, text: "the file is empty; services is missing" }] };
  }
  const located =
    (locate: Locate) =>
    (problem: SchemaProblem): FileProblem => ({
      ...locate(problem.path),
      text: problem.path.length === 0 ? problem.text : `${pathText(problem.path)}: ${problem.text}`,
    });
  const resolved = resolveValues(yaml.data, MESH_SCHEMA, (name) => around.env[name]);
  const broken = [
    ...withoutServices(yaml.data),
    ...resolved.problems,
    ...checkSchema(MESH_SCHEMA, resolved.value).map(withWay),
  ];
  if (broken.length > 0) return { problems: broken.map(located(yaml.locate)) };
  // The schema has been checked, so this is the decoding edge.
  const own = resolved.value as Omit<RawFile, "services"> & Partial<RawFile>;
  const imported = readImport(own, yaml.locate, around);
  if (imported.problems.length > 0) return { problems: imported.problems };
  const raw: RawFile = { ...own, services: mergeServices(imported.services, own.services ?? {}) };
  const locate = locateBoth(own, yaml.locate, imported);
  if (Object.keys(raw.services).length === 0) return { problems: [noServices(own, yaml.locate)] };
  const merged = own.import === undefined ? [] : checkSchema(MESH_SCHEMA, { services: raw.services });
  if (merged.length > 0) return { problems: merged.map(located(locate)) };
  const files = readEnvFiles(raw, locate, around);
  const problems = [
    ...Object.entries(raw.services)
      .flatMap(([name, service]) => serviceProblems(name, service, raw))
      .map(located(locate)),
    ...files.problems,
  ];
  if (problems.length > 0) return { problems };
  const file = toMeshFile(raw, locate, files.of, imported.notices);
  const twins = twinProblems(file);
  return twins.length > 0 ? { problems: twins.map(located(locate)) } : { file };
}

const OBJECTS: FileProblem = {
  line: 1,
  column: 1,
  text: "this is a file of Istio objects, not a mesh file; mesh apply -f takes it, and with --dry-run only looks at it",
};

function noServices(own: Partial<RawFile>, locate: Locate): FileProblem {
  if (own.import !== undefined)
    return { ...locate(["import"]), text: `import: ${own.import} has no service that can run here` };
  return { ...locate(["services"]), text: "services: is empty" };
}

/** One of two members has to be there, which the schema cannot say. */
function withoutServices(data: unknown): readonly SchemaProblem[] {
  return !isJsonObject(data) || "services" in data || "import" in data
    ? []
    : [{ path: [], text: "services is missing" }];
}

/** `mesh.yaml:3:5: services.web: ...`, or the imported file's name where that is meant. */
export function problemText({ file, line, column, text }: FileProblem, fileName: string): string {
  return `${file ?? fileName}:${line}:${column}: ${text}`;
}

const OF_COMPOSE = "it is a member of compose files; a mesh file takes one over with import: docker-compose.yaml";

/** What people look for in the file, and where it is decided instead. */
const DECIDED_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["isolation", "it holds for the whole mesh, from its start: mesh up --isolation namespaces, or none"],
  ["proxyless", "a service of gRPC programs that speak xDS themselves has kind: proxyless"],
  ["gateway", "a service that Gateway objects select has kind: gateway"],
  ["namespace", "all services are in the one that the file names at its top"],
  ["image", OF_COMPOSE],
  ["build", OF_COMPOSE],
  ["environment", OF_COMPOSE],
  ["volumes", OF_COMPOSE],
  ["networks", OF_COMPOSE],
]);

function withWay(problem: SchemaProblem): SchemaProblem {
  const way = DECIDED_ELSEWHERE.get(problem.unknownMember ?? "");
  return way === undefined ? problem : { ...problem, text: `is not known here: ${way}` };
}

const NOTHING: ImportedServices = { services: {}, problems: [], notices: [], locate: () => undefined };

function readImport(own: Partial<RawFile>, locate: Locate, around: FileSurroundings): ImportedServices {
  if (own.import === undefined) return NOTHING;
  let text: string;
  try {
    text = around.readText(own.import);
  } catch (thrown) {
    return { ...NOTHING, problems: [{ ...locate(["import"]), text: `import: ${own.import} ${reason(thrown)}` }] };
  }
  const beside = readDotenv(posix.join(posix.dirname(own.import), ".env"), around);
  const env = { ...beside.variables, ...around.env };
  const imported = importCompose(text, { file: own.import, env, own: new Set(Object.keys(own.services ?? {})) });
  return { ...imported, problems: [...beside.problems, ...imported.problems] };
}

/** Variables of a compose file stand in a file of this name beside it, if there is one. */
function readDotenv(path: string, { env, readText }: FileSurroundings) {
  let text: string;
  try {
    text = readText(path);
  } catch {
    return { variables: {}, problems: [] };
  }
  const { variables, problems } = parseEnvFile(text, (name) => env[name]);
  return { variables, problems: problems.map((problem) => ({ ...problem, file: path, column: 1 })) };
}

/** Members of the mesh file win over those of the imported one. */
function mergeServices(imported: RawFile["services"], own: RawFile["services"]): RawFile["services"] {
  const merged: Record<string, RawService> = { ...imported };
  for (const [name, service] of Object.entries(own)) {
    const { env, ...other } = imported[name] ?? {};
    merged[name] = { ...other, ...service, ...(env || service.env ? { env: { ...env, ...service.env } } : {}) };
  }
  return merged;
}

/** Where a member stands: in the mesh file, or else in the imported one. */
function locateBoth(own: Partial<RawFile>, locate: Locate, imported: ImportedServices): Locate {
  return (path) => {
    const [, name = "", member] = path;
    const service = path[0] === "services" ? own.services?.[name] : undefined;
    const isOwn = path[0] !== "services" || (service !== undefined && (member === undefined || member in service));
    return (isOwn ? undefined : imported.locate(path)) ?? locate(path);
  };
}

/** All env files of a file, read once each. */
function readEnvFiles(
  { services }: RawFile,
  locate: Locate,
  { env, readText }: FileSurroundings,
): { readonly of: EnvFiles; readonly problems: readonly FileProblem[] } {
  const problems: FileProblem[] = [];
  const found = new Map<string, Readonly<Record<string, string>>>();
  const read = (path: Path, { env_file: given }: RawWorkload) => {
    const names = given === undefined ? [] : [given].flat();
    const variables: Record<string, string> = {};
    names.forEach((name, index) => {
      const at = [...path, "env_file", ...(typeof given === "string" ? [] : [index])];
      try {
        const parsed = parseEnvFile(readText(name), (variable) => variables[variable] ?? env[variable]);
        Object.assign(variables, parsed.variables);
        problems.push(...parsed.problems.map(({ line, text }) => ({ file: name, line, column: 1, text })));
      } catch (thrown) {
        problems.push({ ...locate(at), text: `${pathText(at)}: ${name} ${reason(thrown)}` });
      }
    });
    found.set(path.join("/"), variables);
  };
  for (const [name, service] of Object.entries(services)) {
    read(["services", name], service);
    for (const [version, kind] of Object.entries(service.versions ?? {}))
      read(["services", name, "versions", version], kind);
  }
  const unique = [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
  return { of: (path) => found.get(path.join("/")) ?? {}, problems: unique };
}

function toMeshFile(raw: RawFile, locate: Locate, envFiles: EnvFiles, notices: readonly FileProblem[]): MeshFile {
  return {
    name: raw.name ?? "mesh",
    namespace: raw.namespace ?? "default",
    mtls: raw.mtls ?? "strict",
    egress: raw.egress ?? "allowed",
    services: Object.entries(raw.services).map(([name, service]) => toService(name, service, locate, envFiles)),
    config: (raw.config ?? []).map((value, index): InlineObject => ({ value, line: locate(["config", index]).line })),
    configDir: raw.configDir,
    notices,
  };
}

function reason(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** `services.web.versions.v1`, `config[2]` */
function pathText(path: Path): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}
