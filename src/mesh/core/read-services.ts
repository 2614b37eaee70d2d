import { parseDurationMs } from "../../base/duration.ts";
import { splitHostPort } from "../../net/host-port.ts";
import type { Path } from "./check-schema.ts";
import type { CommandLine, EndpointSpec, HealthCheck, ServiceSpec, VersionSpec } from "./mesh-file.ts";
import {
  dependenciesOf,
  type Locate,
  portsOf,
  type RawCommand,
  type RawHealthCheck,
  type RawService,
  type RawWorkload,
} from "./raw-mesh-file.ts";

/** Variables of the env files of a service, or of one of its versions, by their place in the file. */
export type EnvFiles = (path: Path) => Readonly<Record<string, string>>;

/** What Gateway objects select where they say nothing else, as in a cluster. */
const GATEWAY_LABELS = { istio: "ingressgateway" };

/** A service that has been checked, with every default filled in. */
export function toService(name: string, raw: RawService, locate: Locate, envFiles: EnvFiles): ServiceSpec {
  const { kind = "sidecar", command, versions } = raw;
  const kinds: readonly (readonly [string | undefined, RawWorkload])[] =
    versions === undefined ? [[undefined, raw]] : Object.entries(versions);
  const runsHere = kind === "gateway" || command !== undefined || versions !== undefined;
  return {
    name,
    kind,
    ports: portsOf(raw),
    entry: raw.entry ?? kind === "gateway",
    endpoints: endpointsOf(raw),
    // A gateway routes to everything.
    calls: kind === "gateway" ? [] : raw.calls,
    dependsOn: dependenciesOf(raw),
    versions: runsHere ? kinds.map(([version, own]) => toVersion(name, version, raw, own, locate, envFiles)) : [],
  };
}

function endpointsOf({ address, endpoints = [] }: RawService): readonly EndpointSpec[] {
  if (address !== undefined) {
    // The schema has checked the form.
    const split = splitHostPort(address);
    return "problem" in split ? [] : [{ host: split.host, port: Number(split.port), labels: {} }];
  }
  return endpoints.map(({ address: host, port, labels = {} }) => ({ host, port, labels: texts(labels) }));
}

function toVersion(
  service: string,
  version: string | undefined,
  defaults: RawService,
  own: RawWorkload,
  locate: Locate,
  envFiles: EnvFiles,
): VersionSpec {
  const path: Path = ["services", service];
  const below: Path = version === undefined ? path : [...path, "versions", version];
  const isOwn = version !== undefined && own.command !== undefined;
  const check = own.healthcheck ?? defaults.healthcheck;
  const labels = texts({ ...defaults.labels, ...own.labels });
  return {
    version,
    command: toCommand(own.command ?? defaults.command ?? []),
    position: locate([...(isOwn ? below : path), "command"]),
    directory: own.directory ?? defaults.directory,
    env: { ...envFiles(path), ...envFiles(below), ...texts({ ...defaults.env, ...own.env }) },
    labels: defaults.kind === "gateway" ? { ...GATEWAY_LABELS, ...labels } : labels,
    serviceAccount: own.serviceAccount ?? defaults.serviceAccount ?? service,
    replicas: own.replicas ?? defaults.replicas ?? 1,
    healthCheck: check === undefined ? undefined : toHealthCheck(check, portsOf(defaults)[0]?.port ?? 0),
  };
}

function toHealthCheck(raw: RawHealthCheck, firstPort: number): HealthCheck {
  const port = raw.port ?? firstPort;
  const probe =
    raw.command !== undefined
      ? ({ kind: "command", command: toCommand(raw.command) } as const)
      : raw.http !== undefined
        ? ({ kind: "http", path: raw.http, port } as const)
        : ({ kind: "tcp", port } as const);
  return {
    probe,
    intervalMs: parseDurationMs(raw.interval ?? "5s"),
    timeoutMs: parseDurationMs(raw.timeout ?? "2s"),
    retries: raw.retries ?? 3,
    startPeriodMs: parseDurationMs(raw.start_period ?? "0s"),
  };
}

function toCommand(command: RawCommand): CommandLine {
  return typeof command === "string" ? command : command.map(String);
}

function texts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
}
