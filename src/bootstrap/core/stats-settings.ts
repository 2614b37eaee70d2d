import { errorMessage } from "../../base/coded-error.ts";
import { parseDuration } from "../../base/duration.ts";
import { compareText } from "../../base/go-text.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";
import { formatProtoDuration } from "../../protobuf/proto-duration.ts";
import type { BootstrapInputs } from "../inputs.ts";
import type { DocumentRules } from "./generations.ts";
import type { NodeDescriptor } from "./node-descriptor.ts";

export interface StatsSettings {
  readonly extraTags: readonly string[];
  readonly prefixes: readonly string[];
  readonly suffixes: readonly string[];
  readonly regexes: readonly string[];
  readonly histogramBuckets: readonly { readonly prefix: string; readonly buckets: readonly number[] }[];
  /** Proto JSON durations. */
  readonly flushInterval: string | undefined;
  readonly evictionInterval: string | undefined;
}

const ANNOTATION = "sidecar.istio.io/";
const DEFAULT_FLUSH = 5_000_000_000n;
/** Envoy refuses a flush interval outside these. */
const MIN_FLUSH = 1_000_000n;
const MAX_FLUSH = 300_000_000_000n;

/** What the pod's annotations and ProxyConfig say about metrics; an annotation replaces the list of ProxyConfig, it does not add to it. */
export function statsSettings(
  inputs: BootstrapInputs,
  node: NodeDescriptor,
  rules: DocumentRules,
  warnings: string[],
): StatsSettings {
  const annotation = (name: string) => readAnnotation(node, rules, ANNOTATION + name);
  const { extraStatTags = [], proxyStatsMatcher = {} } = inputs.proxyConfig;
  const ips = [...new Set(inputs.nodeIps)];
  const list = (name: string, configured: readonly string[] | undefined, required: readonly string[]) => {
    const text = annotation(name);
    const own = (text ? text.split(",") : (configured ?? [])).flatMap((entry) =>
      entry.includes("{pod_ip}") ? ips.map((ip) => entry.replaceAll("{pod_ip}", ip)) : [entry],
    );
    // An empty pattern would match everything or nothing, and Envoy refuses it.
    return [...own.filter((entry) => entry !== ""), ...required];
  };
  const exiting = inputs.agent.exitOnZeroActiveConnections && rules.requiredSuffixes.length > 0;
  const suffixes = [...rules.requiredSuffixes, ...(exiting ? ["downstream_cx_active"] : [])];
  const tags = [...rules.standardTags, ...extraStatTags, ...annotation("extraStatTags").split(",")];
  return {
    extraTags: [...new Set(tags.filter((tag) => tag !== ""))],
    prefixes: list("statsInclusionPrefixes", proxyStatsMatcher.inclusionPrefixes, rules.requiredPrefixes),
    suffixes: list("statsInclusionSuffixes", proxyStatsMatcher.inclusionSuffixes, suffixes),
    regexes: list("statsInclusionRegexps", proxyStatsMatcher.inclusionRegexps, rules.requiredRegexes),
    histogramBuckets: histogramBuckets(annotation("statsHistogramBuckets"), warnings),
    ...intervals(rules, annotation, warnings),
  };
}

function readAnnotation(node: NodeDescriptor, rules: DocumentRules, name: string): string {
  if (rules.statsFrom === "annotations") return node.annotations.get(name) ?? "";
  const value = node.raw.get(name);
  return typeof value === "string" ? value : "";
}

function histogramBuckets(text: string, warnings: string[]): StatsSettings["histogramBuckets"] {
  if (text === "") return [];
  const problem = jsonSyntaxError(text) ?? bucketsProblem(JSON.parse(text));
  if (problem !== undefined) {
    warnings.push(`Failed to unmarshal histogram buckets ${text}: ${problem}`);
    return [];
  }
  return Object.entries((JSON.parse(text) ?? {}) as Record<string, (number | null)[] | null>)
    .sort(([left], [right]) => compareText(left, right))
    .map(([prefix, buckets]) => ({ prefix, buckets: (buckets ?? []).map((bucket) => bucket ?? 0) }));
}

/** What keeps the value from being lists of numbers by prefix; null stands for the empty one of each. */
function bucketsProblem(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (!isJsonObject(value)) return misfit(value, "map[string][]float64");
  for (const list of Object.values(value)) {
    if (list === null) continue;
    if (!Array.isArray(list)) return misfit(list, "[]float64");
    const other = list.find((item) => item !== null && !Number.isFinite(item));
    if (other !== undefined) return misfit(other, "float64");
  }
  return undefined;
}

function misfit(value: unknown, type: string): string {
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type ${type}`;
}

function intervals(
  rules: DocumentRules,
  annotation: (name: string) => string,
  warnings: string[],
): Pick<StatsSettings, "flushInterval" | "evictionInterval"> {
  if (!rules.statsIntervals) return { flushInterval: undefined, evictionInterval: undefined };
  const parsed = parseInterval("flush", annotation("statsFlushInterval"), warnings);
  const usable = parsed === undefined || (parsed >= MIN_FLUSH && parsed < MAX_FLUSH);
  if (!usable)
    warnings.push(`stats flush interval ${formatProtoDuration(parsed)} must be at least 1ms and below 300s; ignored`);
  const flush = usable ? parsed : undefined;
  const eviction = parseInterval("eviction", annotation("statsEvictionInterval"), warnings);
  const fits = eviction === undefined || (eviction > 0n && eviction % (flush ?? DEFAULT_FLUSH) === 0n);
  if (!fits) warnings.push("StatsEvictionInterval must be a multiple of the StatsFlushInterval");
  return {
    flushInterval: flush === undefined ? undefined : formatProtoDuration(flush),
    evictionInterval: fits && eviction !== undefined ? formatProtoDuration(eviction) : undefined,
  };
}

function parseInterval(what: string, text: string, warnings: string[]): bigint | undefined {
  if (text === "") return undefined;
  try {
    return parseDuration(text);
  } catch (failure) {
    warnings.push(`Failed to parse stats ${what} interval ${text}: ${errorMessage(failure)}`);
    return undefined;
  }
}
