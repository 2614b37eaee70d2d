import { compareText } from "../../istio-api/config-object.ts";
import type { TelemetryAccessLogging } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import {
  defaultProviders,
  type TelemetryLayer,
  telemetryLayers,
  telemetryObjects,
} from "../../mesh-model/telemetry.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import { findProviderServer } from "../shared/cluster-name.ts";
import { type AccessLogs, buildAccessLogs, NO_ACCESS_LOGS, toAccessLogs } from "./file-log.ts";
import { type FindServer, type LogProvider, providerLog } from "./provider-log.ts";

export interface WorkloadLogs extends AccessLogs {
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

/** Of calls that workloads of the scope make. */
export function outboundLogs(scope: OutboundScope, layers = outboundLayers(scope)): WorkloadLogs {
  return workloadLogs("CLIENT", { mesh: scope.mesh, layers, find: finderIn(scope) });
}

/** Of calls to the view's workload. */
export function inboundLogs(view: ProxyView, layers = inboundLayers(view)): WorkloadLogs {
  return workloadLogs("SERVER", { mesh: view.snapshot.mesh, layers, find: finderIn(view.outbound) });
}

/** Telemetry objects that reach workloads of the scope, as those who make calls. */
export function outboundLayers({ traits, mesh, snapshot }: OutboundScope): readonly TelemetryLayer[] {
  const objects = telemetryObjects(snapshot.configs, mesh.rootNamespace, traits.namespace);
  return telemetryLayers(objects, mesh.rootNamespace, traits);
}

/** Those that reach the view's workload, as the one that is called. */
export function inboundLayers({ node, snapshot: { mesh, configs } }: ProxyView): readonly TelemetryLayer[] {
  return telemetryLayers(telemetryObjects(configs, mesh.rootNamespace, node.namespace), mesh.rootNamespace, node);
}

/** A proxy refuses a listener that names a cluster it does not have, so that only what the scope shows will do. */
function finderIn(scope: OutboundScope): FindServer {
  return (service, port) => findProviderServer(scope, service, port);
}

interface LogsInput {
  readonly mesh: MeshSettings;
  readonly layers: readonly TelemetryLayer[];
  readonly find: FindServer;
}

function workloadLogs(mode: LoggingMode, { mesh, layers, find }: LogsInput): WorkloadLogs {
  const { source } = mesh;
  const entries = layers.map(({ object }) => object.spec.accessLogging).filter((layer) => layer.length > 0);
  const choices = mergeLogging(entries, defaultProviders(source, "accessLogging"), mode);
  const providers = logProviders(source);
  const problems: string[] = [];
  const logs: { readonly name: string; readonly log: AccessLog; readonly isDisabled: boolean }[] = [];
  for (const [name, { isDisabled, filter }] of choices) {
    const provider = providers.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
    const log = provider === undefined ? "the mesh has no such provider" : providerLog(provider, mesh.accessLog, find);
    if (typeof log === "string") problems.push(`access log provider ${JSON.stringify(name)}: ${log}`);
    else if (log !== undefined) logs.push({ name, isDisabled, log: filter === "" ? log : filtered(log, filter) });
  }
  const isListenerSilent = source.disableEnvoyListenerLog === true;
  const made =
    logs.length === 0
      ? buildAccessLogs(mesh.accessLog)
      : toAccessLogs(
          logs
            .filter(({ isDisabled }) => !isDisabled)
            .toSorted((a, b) => compareText(a.name, b.name))
            .map(({ log }) => log),
        );
  return { ...made, ...(isListenerSilent && { listener: NO_ACCESS_LOGS.listener }), problems };
}

function filtered(log: AccessLog, expression: string): AccessLog {
  return {
    ...log,
    filter: {
      extensionFilter: {
        name: "envoy.access_loggers.extension_filters.cel",
        typedConfig: pack("envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter", { expression }),
      },
    },
  };
}

/** The mesh settings are checked when they are read, so that providers have the shape of their kind. One without a name is ignored. */
function logProviders({ extensionProviders }: MeshSettings["source"]): readonly LogProvider[] {
  return ((extensionProviders ?? []) as readonly LogProvider[]).filter(({ name }) => typeof name === "string");
}

export type LoggingMode = "CLIENT" | "SERVER";

/** What is to be done with one provider. */
interface LoggingChoice {
  readonly isDisabled: boolean;
  /** A CEL expression; empty: everything is logged. */
  readonly filter: string;
}

/**
 * Providers of one direction by name. The innermost layer that names providers says which ones there are; entries without providers are
 * about those that the entry before them was about.
 */
export function mergeLogging(
  layers: readonly (readonly TelemetryAccessLogging[])[],
  defaults: readonly string[],
  mode: LoggingMode,
): ReadonlyMap<string, LoggingChoice> {
  const isMeant = ({ match }: TelemetryAccessLogging) =>
    match === undefined || match.mode === "CLIENT_AND_SERVER" || match.mode === mode;
  if (layers.length === 0) return new Map(defaults.map((name) => [name, { isDisabled: false, filter: "" }]));
  const named = layers.map((layer) => layer.filter(isMeant).flatMap(namesOf));
  const inScope = new Set(named.findLast((names) => names.length > 0) ?? defaults);
  const filters = new Map<string, string>();
  const isOff = new Map<string, boolean>();
  let about = defaults;
  for (const entry of layers.flat()) {
    const names = namesOf(entry);
    if (names.length > 0) about = names;
    if (!isMeant(entry)) continue;
    for (const name of about) {
      // Naming a provider again without a filter takes its filter away; saying something else of it does not.
      if (names.length > 0 || entry.filter !== undefined) filters.set(name, entry.filter?.expression ?? "");
      isOff.set(name, entry.disabled === true);
    }
  }
  return new Map(
    [...isOff]
      .filter(([name]) => inScope.has(name))
      .map(([name, isDisabled]) => [name, { isDisabled, filter: filters.get(name) ?? "" }]),
  );
}

function namesOf({ providers }: TelemetryAccessLogging): readonly string[] {
  return providers.map(({ name }) => name);
}
