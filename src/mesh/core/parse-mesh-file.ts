import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { type HostPort, splitHostPort } from "../../net/host-port.ts";
import { checkSchema, type Path, type SchemaProblem } from "./check-schema.ts";
import type { CommandLine, InlineObject, MeshFile, Position, ServiceSpec, VersionSpec } from "./mesh-file.ts";
import { MESH_SCHEMA } from "./mesh-schema.ts";
import { workloadNames } from "./plan-mesh.ts";

export interface FileProblem extends Position {
  readonly text: string;
}

export type ParsedMeshFile = { readonly file: MeshFile } | { readonly problems: readonly FileProblem[] };

/** The text of a mesh.yaml. All problems at once, each with its position. */
export function parseMeshFile(text: string): ParsedMeshFile {
  const yaml = locateYaml(text);
  if ("problem" in yaml) return { problems: [{ ...yaml.position, text: `YAML: ${yaml.problem}` }] };
  if (yaml.data === null || yaml.data === undefined) {
    return { problems: [{ line: 1, column: 1, text: "the file is empty; services is missing" }] };
  }
  const located = ({ path, text: what }: SchemaProblem): FileProblem => ({
    ...yaml.locate(path),
    text: path.length === 0 ? what : `${pathText(path)}: ${what}`,
  });
  const broken = checkSchema(MESH_SCHEMA, yaml.data);
  if (broken.length > 0) return { problems: broken.map(withWay).map(located) };
  // The schema has been checked, so this is the decoding edge.
  const raw = yaml.data as RawFile;
  const problems = Object.entries(raw.services).flatMap(([name, service]) => serviceProblems(name, service, raw));
  if (problems.length > 0) return { problems: problems.map(located) };
  const file = toMeshFile(raw, yaml.locate);
  const twins = twinProblems(file);
  return twins.length > 0 ? { problems: twins.map(located) } : { file };
}

/** What people look for in the file, and where it is decided instead. */
const DECIDED_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["isolation", "it holds for the whole mesh, from its start: mesh up --isolation namespaces, or none"],
  ["proxyless", "a mesh is without Envoy as a whole, where mesh up --demo cannot have one"],
  ["namespace", "all services are in the one that the file names at its top"],
]);

function withWay(problem: SchemaProblem): SchemaProblem {
  const way = DECIDED_ELSEWHERE.get(problem.unknownMember ?? "");
  return way === undefined ? problem : { ...problem, text: `is not known here: ${way}` };
}

interface RawWorkload {
  readonly command?: string | readonly (string | number)[];
  readonly directory?: string;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, unknown>>;
  readonly serviceAccount?: string;
  readonly replicas?: number;
}

interface RawService extends RawWorkload {
  readonly port?: number;
  readonly protocol?: ServiceSpec["protocol"];
  readonly entry?: boolean;
  readonly address?: string;
  readonly calls?: readonly string[];
  readonly versions?: Readonly<Record<string, RawWorkload>>;
}

interface RawFile {
  readonly name?: string;
  readonly namespace?: string;
  readonly mtls?: MeshFile["mtls"];
  readonly services: Readonly<Record<string, RawService>>;
  readonly config?: readonly unknown[];
  readonly configDir?: string;
}

/** What a schema cannot say: members that exclude or need each other, and names that must exist. */
function serviceProblems(name: string, service: RawService, file: RawFile): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  const at: Path = ["services", name];
  const add = (path: Path, text: string) => problems.push({ path: [...at, ...path], text });
  if (service.address !== undefined) {
    if (service.port === undefined) add([], "port is missing: a service with an address needs one");
    for (const member of ["command", "versions", "calls", "replicas", "entry"] as const) {
      if (service[member] !== undefined) add([member], "does not go together with address: that runs already");
    }
    const port = Number(service.address.split(":").at(-1));
    if (port < 1 || port > 65_535) add(["address"], "the port must be from 1 to 65535");
  } else {
    const kinds = Object.entries(service.versions ?? {});
    if (kinds.length === 0 && service.command === undefined) add([], "command, versions or address is missing");
    for (const [version, kind] of kinds) {
      if (kind.command ?? service.command) continue;
      add(["versions", version], "command is missing, here and beside versions");
    }
  }
  for (const path of foreignAppLabels(name, service)) add(path, `is always ${name}, after the service`);
  service.calls?.forEach((called, index) => {
    const target = file.services[called];
    const known = Object.keys(file.services).filter((each) => file.services[each]?.port !== undefined);
    if (target?.port === undefined) {
      add(
        ["calls", index],
        `${JSON.stringify(called)} is not a service with a port, there are ${known.join(", ") || "none"}`,
      );
    }
  });
  return problems;
}

/** Selectors of the mesh's own objects go by this label. */
function foreignAppLabels(name: string, service: RawService): readonly Path[] {
  const kinds: readonly (readonly [Path, RawWorkload])[] = [
    [[], service],
    ...Object.entries(service.versions ?? {}).map(([version, kind]) => [["versions", version], kind] as const),
  ];
  return kinds
    .filter(([, { labels = {} }]) => labels.app !== undefined && labels.app !== name)
    .map(([path]) => [...path, "labels", "app"]);
}

/** `web` with two replicas has a `web-1`, and so may not be beside a service `web-1`: both would be one workload. */
function twinProblems(file: MeshFile): readonly SchemaProblem[] {
  const owners = new Map<string, string>();
  return workloadNames(file).flatMap(({ name, service }) => {
    const owner = owners.get(name);
    owners.set(name, owner ?? service);
    if (owner === undefined) return [];
    const text = `has a workload ${name}, as ${owner === service ? "it has already" : `service ${owner} has`}; rename one`;
    return [{ path: ["services", service], text }];
  });
}

function toMeshFile(raw: RawFile, locate: (path: Path) => Position): MeshFile {
  return {
    name: raw.name ?? "mesh",
    namespace: raw.namespace ?? "default",
    mtls: raw.mtls ?? "strict",
    services: Object.entries(raw.services).map(([name, service]) => toService(name, service, locate)),
    config: (raw.config ?? []).map((value, index): InlineObject => ({ value, line: locate(["config", index]).line })),
    configDir: raw.configDir,
  };
}

function toService(name: string, raw: RawService, locate: (path: Path) => Position): ServiceSpec {
  const kinds: readonly (readonly [string | undefined, RawWorkload])[] =
    raw.versions === undefined ? [[undefined, raw]] : Object.entries(raw.versions);
  return {
    name,
    port: raw.port,
    protocol: raw.protocol ?? "http",
    entry: raw.entry ?? false,
    address: raw.address === undefined ? undefined : splitAddress(raw.address),
    calls: raw.calls,
    versions:
      raw.address === undefined ? kinds.map(([version, kind]) => toVersion(name, version, raw, kind, locate)) : [],
  };
}

function toVersion(
  service: string,
  version: string | undefined,
  defaults: RawWorkload,
  own: RawWorkload,
  locate: (path: Path) => Position,
): VersionSpec {
  const path: Path = ["services", service];
  const isOwn = version !== undefined && own.command !== undefined;
  return {
    version,
    command: toCommand(own.command ?? defaults.command ?? ""),
    position: locate([...path, ...(isOwn ? ["versions", version] : []), "command"]),
    directory: own.directory ?? defaults.directory,
    env: texts({ ...defaults.env, ...own.env }),
    labels: texts({ ...defaults.labels, ...own.labels }),
    serviceAccount: own.serviceAccount ?? defaults.serviceAccount ?? service,
    replicas: own.replicas ?? defaults.replicas ?? 1,
  };
}

function toCommand(command: string | readonly (string | number)[]): CommandLine {
  return typeof command === "string" ? command : command.map(String);
}

function texts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
}

/** The schema has checked the form. */
function splitAddress(text: string): HostPort | undefined {
  const split = splitHostPort(text);
  return "problem" in split ? undefined : { host: split.host, port: Number(split.port) };
}

/** `services.web.versions.v1`, `config[2]` */
function pathText(path: Path): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}
