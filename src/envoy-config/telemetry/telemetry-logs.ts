import { compareText } from "../../istio-api/config-object.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import { type AccessLogs, buildAccessLogs, NO_ACCESS_LOGS, toAccessLogs } from "../access-log/build-access-logs.ts";
import { findProviderServer } from "../provider-server.ts";
import { type LoggingMode, mergeLogging } from "./merge-logging.ts";
import { type FindServer, type LogProvider, providerLog } from "./provider-log.ts";
import { type LoggingWorkload, selectLogging } from "./select-logging.ts";

export interface WorkloadLogs extends AccessLogs {
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

/** Of calls that workloads of the scope make. */
export function outboundLogs(scope: OutboundScope): WorkloadLogs {
  const { traits, mesh, snapshot } = scope;
  return workloadLogs("CLIENT", { mesh, configs: snapshot.configs, workload: traits, find: finderIn(scope) });
}

/** Of calls to the view's workload. */
export function inboundLogs({ node, snapshot, outbound }: ProxyView): WorkloadLogs {
  const { mesh, configs } = snapshot;
  return workloadLogs("SERVER", { mesh, configs, workload: node, find: finderIn(outbound) });
}

/** A proxy refuses a listener that names a cluster it does not have, so that only what the scope shows will do. */
function finderIn(scope: OutboundScope): FindServer {
  return (service, port) => findProviderServer(scope, service, port);
}

interface LogsInput {
  readonly mesh: MeshSettings;
  readonly configs: OutboundScope["snapshot"]["configs"];
  readonly workload: LoggingWorkload;
  readonly find: FindServer;
}

function workloadLogs(mode: LoggingMode, { mesh, configs, workload, find }: LogsInput): WorkloadLogs {
  const { source } = mesh;
  const layers = selectLogging(configs, mesh.rootNamespace, workload);
  const choices = mergeLogging(layers, defaultProviders(source), mode);
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

function defaultProviders({ defaultProviders: given }: MeshSettings["source"]): readonly string[] {
  const { accessLogging = [] } = (given ?? {}) as { readonly accessLogging?: readonly string[] };
  return accessLogging;
}

/** The mesh settings are checked when they are read, so that providers have the shape of their kind. One without a name is nobody's. */
function logProviders({ extensionProviders }: MeshSettings["source"]): readonly LogProvider[] {
  return ((extensionProviders ?? []) as readonly LogProvider[]).filter(({ name }) => typeof name === "string");
}

/** Which servers of logs the view's workload can call: its listeners follow from that, and the inbound scope does not tell it. */
export function logServersKey({ snapshot, outbound }: ProxyView): string {
  const find = finderIn(outbound);
  return logProviders(snapshot.mesh.source)
    .flatMap(({ envoyHttpAls, envoyTcpAls, envoyOtelAls }) => envoyHttpAls ?? envoyTcpAls ?? envoyOtelAls ?? [])
    .map(({ service = "", port = 0 }) => (typeof find(service, port) === "string" ? "0" : "1"))
    .join("");
}
