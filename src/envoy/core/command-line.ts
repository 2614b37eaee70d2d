import { isIPv4 } from "../../net/ip.ts";
import type { BaseFlag, CommandLine, TrailingFlag } from "./command-lines.ts";

/** What the agent knows of one Envoy start. Values a generation has no flag for are ignored. */
export interface EnvoyArgs {
  readonly configFile: string;
  readonly drainMs: number;
  readonly nodeIps: readonly string[];
  readonly logLevel?: string;
  readonly componentLogLevel?: string;
  readonly jsonLog?: boolean;
  readonly fileFlushIntervalMs?: number;
  readonly fileFlushMinSizeKb?: number;
  readonly skipDeprecatedLogs?: boolean;
  readonly enableCoreDump?: boolean;
  /** Compact JSON that Envoy merges over the file. */
  readonly configYaml?: string;
  readonly concurrency?: number;
  readonly serviceCluster?: string;
  readonly serviceNode?: string;
  readonly statNameLength?: number;
  readonly availabilityZone?: string;
  /** Present in hot restart mode. */
  readonly hotRestart?: { readonly epoch: number; readonly baseId: number; readonly parentShutdownMs: number };
}

const DEFAULT_PARENT_SHUTDOWN_MS = 60_000;

/** The command line of the generation, without the program itself. */
export function buildEnvoyArgs(line: CommandLine, input: EnvoyArgs): string[] {
  const base = line.base.flatMap((flag) => baseFlag(flag, input, line));
  const trailing = line.trailing.flatMap((flag) => trailingFlag(flag, input));
  return [...base, ...trailing];
}

/** Generations up to 1.9 always run Envoy in epochs; later ones only when asked to. */
export function impliesHotRestart(line: CommandLine): boolean {
  return !line.base.includes("--disable-hot-restart");
}

function baseFlag(flag: BaseFlag, input: EnvoyArgs, line: CommandLine): string[] {
  const hot = input.hotRestart;
  switch (flag) {
    case "-c":
      return [flag, input.configFile];
    case "--restart-epoch":
      return hot === undefined ? [flag, "0"] : hotRestartFlags(hot, line);
    case "--drain-time-s":
      return [flag, wholeSeconds(input.drainMs)];
    case "--drain-strategy":
      return [flag, "immediate"];
    case "--parent-shutdown-time-s":
      return [flag, wholeSeconds(hot?.parentShutdownMs ?? DEFAULT_PARENT_SHUTDOWN_MS)];
    case "--service-cluster":
      return [flag, input.serviceCluster ?? "istio-proxy"];
    case "--service-node":
      return [flag, input.serviceNode ?? ""];
    case "--max-obj-name-len":
      return [flag, String(input.statNameLength ?? 189)];
    case "--local-address-ip-version":
      return [flag, input.nodeIps.some(isIPv4) ? "v4" : "v6"];
    case "--bootstrap-version":
      return [flag, "3"];
    case "--file-flush-interval-msec":
      return [flag, String(line.fixedFlushInterval ? 1000 : Math.trunc(input.fileFlushIntervalMs ?? 1000))];
    case "--disable-hot-restart":
      if (hot === undefined) return [flag];
      return line.base.includes("--restart-epoch") ? [] : hotRestartFlags(hot, line);
    case "--allow-unknown-fields":
    case "--allow-unknown-static-fields":
      return [flag];
    case "--log-format-prefix-with-location":
      return [flag, "0"];
    case "--log-format":
      return [flag, logFormat(line, input)];
  }
}

/** The rows without epochs have no parent shutdown time of their own either (except 1.15, 1.16, which list it). */
function hotRestartFlags(hot: NonNullable<EnvoyArgs["hotRestart"]>, line: CommandLine): string[] {
  const flags = ["--restart-epoch", String(hot.epoch), "--base-id", String(hot.baseId)];
  if (line.base.includes("--parent-shutdown-time-s")) return flags;
  return [...flags, "--parent-shutdown-time-s", wholeSeconds(hot.parentShutdownMs)];
}

function trailingFlag(flag: TrailingFlag, input: EnvoyArgs): string[] {
  switch (flag) {
    case "--file-flush-min-size-kb":
      return withValue(flag, positive(input.fileFlushMinSizeKb));
    case "-l":
      return withValue(flag, input.logLevel);
    case "--component-log-level":
      return withValue(flag, input.componentLogLevel);
    case "--skip-deprecated-logs":
      return input.skipDeprecatedLogs ? [flag] : [];
    case "--enable-core-dump":
      return input.enableCoreDump ? [flag] : [];
    case "--config-yaml":
      return withValue(flag, input.configYaml);
    case "--concurrency":
      return withValue(flag, positive(input.concurrency));
    case "--service-zone":
      return withValue(flag, input.availabilityZone);
  }
}

function logFormat(line: CommandLine, input: EnvoyArgs): string {
  const format = (input.jsonLog ? line.logFormat?.json : undefined) ?? line.logFormat?.text ?? "";
  return format.replace("{epoch}", String(input.hotRestart?.epoch ?? 0));
}

function withValue(flag: string, value: string | undefined): string[] {
  return value === undefined || value === "" ? [] : [flag, value];
}

function positive(value: number | undefined): string | undefined {
  return value !== undefined && value > 0 ? String(Math.trunc(value)) : undefined;
}

function wholeSeconds(ms: number): string {
  return String(Math.trunc(ms / 1000));
}
