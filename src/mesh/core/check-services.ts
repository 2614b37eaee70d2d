import type { Path, SchemaProblem } from "./check-schema.ts";
import type { MeshFile } from "./mesh-file.ts";
import { workloadNames } from "./plan-mesh.ts";
import {
  dependenciesOf,
  portsOf,
  type RawFile,
  type RawHealthCheck,
  type RawService,
  type RawWorkload,
} from "./raw-mesh-file.ts";

type Add = (path: Path, text: string) => void;

/** What a schema cannot say: members that exclude or need each other, and names that must exist. */
export function serviceProblems(name: string, service: RawService, file: RawFile): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  const add: Add = (path, text) => problems.push({ path: ["services", name, ...path], text });
  if (service.address !== undefined) checkAddress(service, add);
  else if (service.kind === "gateway") checkGateway(service, add);
  else checkCommands(service, add);
  if (service.kind === "proxyless") checkProxyless(service, add);
  checkPorts(service, add);
  if (service.endpoints !== undefined) checkEndpoints(service, add);
  for (const path of foreignAppLabels(name, service)) add(path, `is always ${name}, after the service`);
  for (const [path, kind] of kindsOf(service)) {
    if (kind.healthcheck !== undefined)
      checkHealth(kind.healthcheck, service, (at, text) => add([...path, ...at], text));
  }
  checkCalls(service, file, add);
  checkDependencies(name, service, file, add);
  return problems;
}

function checkAddress(service: RawService, add: Add): void {
  if (portsOf(service).length === 0) add([], "port is missing: a service with an address needs one");
  for (const member of ["command", "versions", "calls", "replicas", "entry", "kind", "depends_on"] as const) {
    if (service[member] !== undefined) add([member], "does not go together with address: that runs already");
  }
  for (const member of ["endpoints", "ports"] as const) {
    if (service[member] !== undefined) add([member], "does not go together with address: use endpoints alone");
  }
  const port = Number(service.address?.split(":").at(-1));
  if (port < 1 || port > 65_535) add(["address"], "the port must be from 1 to 65535");
}

function checkGateway(service: RawService, add: Add): void {
  if (portsOf(service).length === 0) add([], "port or ports is missing: what a gateway opens on this machine");
  for (const member of [
    "command",
    "versions",
    "endpoints",
    "healthcheck",
    "calls",
    "entry",
    "env",
    "env_file",
  ] as const) {
    if (service[member] !== undefined)
      add([member], "does not go together with kind gateway: an Envoy runs there alone");
  }
}

function checkCommands(service: RawService, add: Add): void {
  const kinds = Object.entries(service.versions ?? {});
  const runsElsewhere = service.endpoints !== undefined && service.command === undefined;
  if (kinds.length === 0 && service.command === undefined && !runsElsewhere) {
    add([], "command, versions, address or endpoints is missing");
  }
  for (const [version, kind] of kinds) {
    if (kind.command ?? service.command) continue;
    add(["versions", version], "command is missing, here and beside versions");
  }
}

function checkProxyless(service: RawService, add: Add): void {
  if (service.entry === true)
    add(["entry"], "does not go together with kind proxyless: its program alone decides what it accepts");
}

function checkPorts(service: RawService, add: Add): void {
  for (const member of ["port", "protocol"] as const) {
    if (service.ports !== undefined && service[member] !== undefined) add([member], "does not go together with ports");
  }
  const seen = new Map<number, string>();
  for (const { name, port } of portsOf(service)) {
    const other = seen.get(port);
    if (other !== undefined) add(["ports", name], `is ${port}, as ${other} is already`);
    seen.set(port, name);
  }
}

function checkEndpoints(service: RawService, add: Add): void {
  const ports = portsOf(service);
  if (ports.length === 0) add([], "port is missing: a service with endpoints needs one");
  service.endpoints?.forEach(({ port }, index) => {
    if (port !== undefined && ports.length > 1)
      add(["endpoints", index, "port"], "is not clear where the service has several ports; they are the same there");
  });
  if (service.command !== undefined || service.versions !== undefined) return;
  for (const member of ["calls", "replicas", "entry", "kind", "depends_on"] as const) {
    if (service[member] !== undefined) add([member], "needs a command: endpoints run already");
  }
}

function checkHealth(check: RawHealthCheck, service: RawService, add: Add): void {
  const kinds = (["http", "tcp", "command"] as const).filter((kind) => check[kind] !== undefined);
  if (kinds.length !== 1) {
    add(
      ["healthcheck"],
      `has ${kinds.join(" and ") || "none of them"}, exactly one of http, tcp and command is needed`,
    );
    return;
  }
  const ports = portsOf(service);
  if (kinds[0] === "command") {
    if (check.port !== undefined) add(["healthcheck", "port"], "does not go together with command");
  } else if (ports.length === 0) {
    add(["healthcheck", kinds[0] ?? ""], "needs a port of the service");
  } else if (check.port !== undefined && !ports.some(({ port }) => port === check.port)) {
    add(["healthcheck", "port"], `is ${check.port}, the service has ${ports.map(({ port }) => port).join(", ")}`);
  }
}

function checkCalls(service: RawService, file: RawFile, add: Add): void {
  const known = Object.keys(file.services).filter((each) => isCallable(file.services[each]));
  service.calls?.forEach((called, index) => {
    if (known.includes(called)) return;
    const isGateway = file.services[called]?.kind === "gateway";
    const what = isGateway ? "a gateway, which is called from outside" : "not a service with a port";
    add(["calls", index], `${JSON.stringify(called)} is ${what}, there are ${known.join(", ") || "none"}`);
  });
}

function isCallable(service: RawService | undefined): boolean {
  return service !== undefined && service.kind !== "gateway" && portsOf(service).length > 0;
}

function checkDependencies(name: string, service: RawService, file: RawFile, add: Add): void {
  const isList = Array.isArray(service.depends_on);
  dependenciesOf(service).forEach(({ service: other, condition }, index) => {
    const at = ["depends_on", isList ? index : other];
    const target = file.services[other];
    const cycle = target === undefined ? undefined : wayBack(other, name, file);
    if (target === undefined) {
      const others = Object.keys(file.services).filter((each) => each !== name);
      add(at, `${JSON.stringify(other)} is not a service of this file, there are ${others.join(", ") || "none"}`);
    } else if (cycle !== undefined) {
      add(at, `is a cycle: ${[name, ...cycle].join(" waits for ")}`);
    } else if (condition === "started" && runsElsewhere(target)) {
      add(at, `${other} runs elsewhere and is not started here`);
    }
  });
}

function runsElsewhere({ address, command, versions, endpoints, kind }: RawService): boolean {
  const isOwn = command !== undefined || versions !== undefined || kind === "gateway";
  return address !== undefined || (endpoints !== undefined && !isOwn);
}

/** The services on the shortest way from one to another; undefined where none leads there. */
function wayBack(from: string, to: string, file: RawFile): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[from]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    const last = way.at(-1) ?? "";
    if (last === to) return way;
    if (seen.has(last)) continue;
    seen.add(last);
    for (const { service } of dependenciesOf(file.services[last] ?? {})) ways.push([...way, service]);
  }
  return undefined;
}

/** Selectors of the mesh's own objects go by this label. */
function foreignAppLabels(name: string, service: RawService): readonly Path[] {
  return kindsOf(service)
    .filter(([, { labels = {} }]) => labels.app !== undefined && labels.app !== name)
    .map(([path]) => [...path, "labels", "app"]);
}

function kindsOf(service: RawService): readonly (readonly [Path, RawWorkload])[] {
  return [
    [[], service],
    ...Object.entries(service.versions ?? {}).map(([version, kind]) => [["versions", version], kind] as const),
  ];
}

/** `web` with two replicas has a `web-1`, and so may not be beside a service `web-1`: both would be one workload. */
export function twinProblems(file: MeshFile): readonly SchemaProblem[] {
  const owners = new Map<string, string>();
  return workloadNames(file).flatMap(({ name, service }) => {
    const owner = owners.get(name);
    owners.set(name, owner ?? service);
    if (owner === undefined) return [];
    const text = `has a workload ${name}, as ${owner === service ? "it has already" : `service ${owner} has`}; rename one`;
    return [{ path: ["services", service], text }];
  });
}
