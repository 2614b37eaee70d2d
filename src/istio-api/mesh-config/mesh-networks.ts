import { isJsonObject } from "../../base/json-object.ts";
import { parseIp } from "../../net/ip.ts";
import { type IpPrefix, parsePrefix, prefixContains } from "../../net/ip-prefix.ts";
import { fqdnProblem } from "../values/dns-name.ts";

/** Networks as a mesh networks file names them: whose endpoints they have, and where connections from other networks enter. */
export interface MeshNetwork {
  readonly name: string;
  /** Ids of clusters all of whose endpoints are there. */
  readonly registries: readonly string[];
  readonly ranges: readonly IpPrefix[];
  readonly gateways: readonly MeshNetworkGateway[];
}

export interface MeshNetworkGateway {
  /** An IP address, or a name to look up; empty where a service has the addresses. */
  readonly address: string;
  /** Host of a service whose external addresses are the gateways; empty where the address is given. */
  readonly service: string;
  readonly port: number;
}

/** The members of a mesh networks document that count, and what is wrong with it. */
export function parseMeshNetworks(document: unknown): {
  readonly networks: readonly MeshNetwork[];
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  if (document === null || document === undefined) return { networks: [], problems };
  const given = mapAt(document, "the document", problems);
  for (const name of Object.keys(given)) if (name !== "networks") problems.push(`unknown field "${name}"`);
  const networks = Object.entries(mapAt(given.networks ?? {}, "networks", problems)).map(([name, value]) =>
    parseNetwork(name, value, problems),
  );
  const owners = new Map<string, string>();
  for (const { name, registries } of networks) {
    for (const registry of registries) {
      const other = owners.get(registry);
      if (other !== undefined) problems.push(`networks.${name}: registry ${registry} is in network ${other} already`);
      owners.set(registry, name);
    }
  }
  return { networks, problems };
}

/** The network of an address in a cluster: that which has the whole cluster, else the first whose range has the address; else empty. */
export function networkOfAddress(networks: readonly MeshNetwork[], clusterId: string, address: string): string {
  const whole = networks.find(({ registries }) => registries.includes(clusterId));
  if (whole !== undefined) return whole.name;
  const ip = parseIp(address);
  if (ip === undefined) return "";
  return networks.find(({ ranges }) => ranges.some((range) => prefixContains(range, ip)))?.name ?? "";
}

type Members = Readonly<Record<string, unknown>>;

function parseNetwork(name: string, value: unknown, problems: string[]): MeshNetwork {
  const at = `networks.${name}`;
  const given = mapAt(value ?? {}, at, problems);
  for (const member of Object.keys(given))
    if (!["name", "endpoints", "gateways"].includes(member)) problems.push(`${at}: unknown field "${member}"`);
  const registries: string[] = [];
  const ranges: IpPrefix[] = [];
  for (const [index, endpoint] of listAt(given.endpoints, `${at}.endpoints`, problems).entries()) {
    const place = `${at}.endpoints[${index}]`;
    const { member, text } = oneOf(endpoint, ["fromCidr", "fromRegistry"], place, problems);
    const range = member === "fromCidr" ? parsePrefix(text) : undefined;
    if (member === "fromRegistry") registries.push(text);
    else if (range !== undefined) ranges.push(range);
    else if (member === "fromCidr")
      problems.push(`${place}.fromCidr: "${text}" is not an address range like 10.0.0.0/8`);
  }
  const gateways = listAt(given.gateways, `${at}.gateways`, problems).flatMap((gateway, index) =>
    parseGateway(gateway, `${at}.gateways[${index}]`, problems),
  );
  return { name, registries, ranges, gateways };
}

function parseGateway(given: Members, at: string, problems: string[]): readonly MeshNetworkGateway[] {
  const { member, text } = oneOf(given, ["registryServiceName", "address"], at, problems);
  const port = Number(given.port ?? 0);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    problems.push(`${at}.port: ${JSON.stringify(given.port ?? 0)} is not a port, allowed are 1 to 65535`);
  if (member === "") return [];
  const isName = fqdnProblem(text) === undefined;
  if (member === "address" && !isName && parseIp(text) === undefined)
    problems.push(`${at}.address: "${text}" is neither an IP address nor a host name`);
  if (member === "registryServiceName" && !isName)
    problems.push(`${at}.registryServiceName: "${text}" is not a host name`);
  return [{ address: member === "address" ? text : "", service: member === "address" ? "" : text, port }];
}

/** Exactly one of two members, in either spelling. */
function oneOf(given: Members, members: readonly [string, string], at: string, problems: string[]) {
  const found = members.flatMap((member) => {
    const value = given[member] ?? given[snakeCase(member)];
    return value === undefined || value === null || value === "" ? [] : [{ member, text: String(value) }];
  });
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  problems.push(`${at}: exactly one of ${members.join(" and ")} must be set`);
  return { member: "", text: "" };
}

function snakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function mapAt(value: unknown, at: string, problems: string[]): Members {
  if (isJsonObject(value)) return value;
  problems.push(`${at}: must be a map`);
  return {};
}

function listAt(value: unknown, at: string, problems: string[]): readonly Members[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((element, index) => mapAt(element, `${at}[${index}]`, problems));
  problems.push(`${at}: must be a list`);
  return [];
}
