import { posix } from "node:path";
import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { composeHealth, composePorts, listOf, recordOf, variablesOf } from "./compose-members.ts";
import { interpolate } from "./interpolate.ts";
import type { FileNotice, Position } from "./mesh-file.ts";
import type { RawCommand, RawService } from "./raw-mesh-file.ts";

export interface ImportedServices {
  readonly services: Readonly<Record<string, RawService>>;
  readonly problems: readonly FileNotice[];
  /** What is not taken over. */
  readonly notices: readonly FileNotice[];
  /** Where a member of a service stands in the imported file. */
  locate(path: readonly (string | number)[]): Position | undefined;
}

interface ComposeSource {
  /** As the mesh file names it; paths in it are relative to its folder. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Services that the mesh file itself has: it may give what is missing here. */
  readonly own: ReadonlySet<string>;
}

type Json = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** Members of a mesh file's service by those of a compose file's. */
const MEMBERS: Readonly<Record<string, string>> = {
  command: "command",
  env: "environment",
  env_file: "env_file",
  directory: "working_dir",
  port: "ports",
  ports: "ports",
  entry: "ports",
  depends_on: "depends_on",
  healthcheck: "healthcheck",
  replicas: "scale",
};
const TAKEN = new Set([...Object.values(MEMBERS), "entrypoint", "expose", "profiles", "deploy"]);
/** Says nothing about how a service runs, or what a mesh does anyway. */
const WITHOUT_EFFECT = new Set(["restart", "container_name", "stdin_open", "tty", "init", "pull_policy"]);
const WHY: Readonly<Record<string, string>> = {
  image: "commands run on this machine as they are",
  build: "commands run on this machine as they are",
  volumes: "commands see this machine's own files",
  networks: "every service reaches those that it calls",
  labels: "give labels in the mesh file",
};

/** Services of a compose file that have a command, and what of the file has no meaning here: each said once. */
export function importCompose(text: string, source: ComposeSource): ImportedServices {
  const { file } = source;
  const nothing = { services: {}, notices: [], locate: () => undefined };
  const yaml = locateYaml(text);
  if ("problem" in yaml) return { ...nothing, problems: [{ ...yaml.position, file, text: `YAML: ${yaml.problem}` }] };
  const at = (path: Path): Position => ({ ...yaml.locate(path), file });
  const problems: FileNotice[] = [];
  const data = resolved(yaml.data, source.env, (path, what) => problems.push({ ...at(path), text: what }));
  const all = recordOf(recordOf(data)?.services);
  if (all === undefined) problems.push({ ...at([]), text: "services is missing; is this a compose file?" });
  if (all === undefined || problems.length > 0) return { ...nothing, problems };

  const notices = new Map<string, FileNotice & { readonly names: string[] }>();
  const note = (path: Path, what: string, name?: string) => {
    const known = notices.get(what);
    if (known === undefined) notices.set(what, { ...at(path), text: what, names: name === undefined ? [] : [name] });
    else if (name !== undefined && !known.names.includes(name)) known.names.push(name);
  };
  for (const member of Object.keys(recordOf(data) ?? {})) {
    if (["services", "version", "name"].includes(member) || member.startsWith("x-")) continue;
    note([member], `${member} is not taken over`);
  }
  const chosen = chooseServices(all, source, note);
  const names = new Map(chosen.map(([name]) => [name, meshName(name)]));
  for (const [name, own] of names) {
    if (own !== name) note(["services", name], `${name} is called ${own} here`);
  }
  const services = chosen.map(([name, service]) => {
    const path = ["services", name];
    sayUnknown(service, name, path, note);
    return [names.get(name) ?? name, toRaw(service, { source, path, names, note })] as const;
  });
  const originals = new Map([...names].map(([name, own]) => [own, name]));
  return {
    services: Object.fromEntries(services),
    problems: [],
    notices: [...notices.values()]
      .map(({ names: who, text: what, ...place }) => ({
        ...place,
        text: who.length === 0 ? what : `${what} (${who.join(", ")})`,
      }))
      .sort((a, b) => a.line - b.line),
    locate([, name = "", member, ...rest]) {
      const original = originals.get(String(name));
      if (original === undefined) return undefined;
      const path = ["services", original, ...(member === undefined ? [] : [MEMBERS[member] ?? member]), ...rest];
      return at(path);
    },
  };
}

type Note = (path: Path, what: string, name?: string) => void;

/** With a command of their own or of the mesh file's, and not of a profile that was not asked for. */
function chooseServices(all: Json, { own, env }: ComposeSource, note: Note): readonly (readonly [string, Json])[] {
  const profiles = (env.COMPOSE_PROFILES ?? "").split(",");
  return Object.entries(all).flatMap(([name, given]) => {
    const service = recordOf(given) ?? {};
    const wanted = listOf(service.profiles).map(String);
    if (wanted.length > 0 && !wanted.some((each) => profiles.includes(each)) && !profiles.includes("*")) {
      note(["services", name, "profiles"], "profiles: left out, COMPOSE_PROFILES does not name one", name);
      return [];
    }
    if (service.command ?? service.entrypoint ?? own.has(meshName(name))) return [[name, service] as const];
    note(["services", name], "left out, as there is no command; give one, or an address, in the mesh file", name);
    return [];
  });
}

function sayUnknown(service: Json, name: string, path: Path, note: Note): void {
  for (const member of Object.keys(service)) {
    if (TAKEN.has(member) || WITHOUT_EFFECT.has(member) || member.startsWith("x-")) continue;
    const why = WHY[member];
    note([...path, member], `${member} is not taken over${why === undefined ? "" : `: ${why}`}`, name);
  }
}

interface Inputs {
  readonly source: ComposeSource;
  readonly path: Path;
  readonly names: ReadonlyMap<string, string>;
  readonly note: Note;
}

function toRaw(service: Json, inputs: Inputs): RawService {
  const { source, path, note } = inputs;
  const folder = posix.dirname(source.file);
  const say = (member: string, what: string) => note([...path, member], what, String(path[1]));
  const ports = composePorts(service, say);
  const command = commandOf(service);
  const files = listOf(service.env_file).flatMap((each) => {
    const name = typeof each === "string" ? each : recordOf(each)?.path;
    return typeof name === "string" ? [posix.join(folder, name)] : [];
  });
  const replicas = service.scale ?? recordOf(service.deploy)?.replicas;
  const directory = directoryOf(service, folder);
  const health = composeHealth(service.healthcheck, say);
  const dependsOn = dependencies(service.depends_on, inputs);
  return {
    ...(command === undefined ? {} : { command }),
    ...ports,
    env: variablesOf(service.environment, source.env),
    ...(files.length === 0 ? {} : { env_file: files }),
    ...(typeof replicas === "number" && replicas > 0 ? { replicas } : {}),
    ...(directory === undefined ? {} : { directory }),
    ...(health === undefined ? {} : { healthcheck: health }),
    ...(Object.keys(dependsOn).length === 0 ? {} : { depends_on: dependsOn }),
  };
}

/** The entrypoint's words, then the command's; a line for the shell where one of them is one. */
function commandOf({ entrypoint, command }: Json): RawCommand | undefined {
  const given = [entrypoint, command].filter((each) => each !== undefined && each !== null);
  if (given.length === 0) return undefined;
  if (given.every(Array.isArray)) return given.flat().map(String);
  return given.map((each) => (Array.isArray(each) ? each.map(quoted).join(" ") : String(each))).join(" ");
}

function quoted(word: unknown): string {
  const text = String(word);
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A folder of the container that one of this machine is mounted at is that one. */
function directoryOf({ working_dir: given, volumes }: Json, folder: string): string | undefined {
  if (typeof given !== "string") return folder === "." ? undefined : folder;
  for (const each of listOf(volumes)) {
    const [from, to] = typeof each === "string" ? each.split(":") : [recordOf(each)?.source, recordOf(each)?.target];
    if (typeof from !== "string" || typeof to !== "string" || !/^[./~]/.test(from)) continue;
    const below = posix.relative(to, given);
    if (!below.startsWith("..") && !posix.isAbsolute(below)) return posix.join(folder, from, below);
  }
  return posix.isAbsolute(given) ? given : posix.join(folder, given);
}

const CONDITIONS: Readonly<Record<string, "started" | "healthy">> = {
  service_started: "started",
  service_healthy: "healthy",
};

/** A name alone means what it means in a compose file: that the other one has been started. */
function dependencies(given: unknown, { source, path, names, note }: Inputs): NonNullable<RawService["depends_on"]> {
  const named: readonly (readonly [string, unknown])[] = Array.isArray(given)
    ? given.map((name) => [String(name), undefined])
    : Object.entries(recordOf(given) ?? {});
  const found: Record<string, { readonly condition: "started" | "healthy" }> = {};
  for (const [name, options] of named) {
    const at = [...path, "depends_on"];
    const other = names.get(name) ?? (source.own.has(name) ? name : undefined);
    if (other === undefined) {
      note(at, `depends_on ${name} is not taken over, as ${name} is not`, String(path[1]));
      continue;
    }
    const condition = String(recordOf(options)?.condition ?? "service_started");
    if (CONDITIONS[condition] === undefined) note(at, `depends_on: ${condition} becomes started`, String(path[1]));
    found[other] = { condition: CONDITIONS[condition] ?? "started" };
  }
  return found;
}

function meshName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9-]/g, "-");
}

/** As compose has it: also in commands, with `$NAME` too, and a variable that is not set is empty. */
function resolved(
  value: unknown,
  env: ComposeSource["env"],
  problem: (path: Path, text: string) => void,
  path: Path = [],
): unknown {
  if (typeof value === "string") {
    const result = interpolate(value, (name) => env[name], { unset: "empty", takesBare: true });
    if (!("problem" in result)) return result.text;
    problem(path, result.problem);
    return value;
  }
  if (Array.isArray(value)) return value.map((item, index) => resolved(item, env, problem, [...path, index]));
  const record = recordOf(value);
  if (record === undefined) return value;
  return Object.fromEntries(
    Object.entries(record).map(([key, member]) => [key, resolved(member, env, problem, [...path, key])]),
  );
}
