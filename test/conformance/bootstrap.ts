import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { silentLogger } from "../../src/base/logger.ts";
import type { BootstrapInputs } from "../../src/bootstrap/inputs.ts";
import { writeGeneratedBootstrap } from "../../src/bootstrap/write-bootstrap.ts";
import { proxyConfigJson } from "../../src/istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../src/istio-api/proxy-config/proxy-config.ts";
import { generationRules } from "../../src/settings/generations.ts";
import type { ConformanceCase, ConformanceFamily } from "./family.ts";

type Json = Record<string, unknown>;

/** One `<case>.input.json`; the README beside the cases says what each field means. */
export interface BootstrapCase {
  readonly case: string;
  readonly stale?: boolean;
  readonly inputs: {
    readonly nodeId: string;
    readonly instanceIPs: readonly string[];
    readonly env: Record<string, string>;
    readonly proxyConfig: ProxyConfig;
    readonly podLabelsFile: string | null;
    readonly podAnnotationsFile: string | null;
    readonly platform: BootstrapInputs["platform"];
    readonly pilotSubjectAltName: readonly string[];
    readonly xdsRootCert: string;
    readonly stsPort: number;
    readonly outlierLogPath: string;
    readonly envoyPrometheusPort: number;
    readonly envoyStatusPort: number;
    readonly envoySecureMetricsPort: number;
    readonly envoySecureMergedMetricsPort: number;
    readonly workloadIdentitySocketFile: string;
    readonly exitOnZeroActiveConnections: boolean;
    readonly metadataDiscovery: boolean | null;
    readonly envoySkipDeprecatedLogs: boolean;
    readonly credentialSocketExists: boolean;
    readonly customCredentialsFileExists: boolean;
    readonly compliancePolicy: string;
    readonly logAsJson: boolean;
    readonly agentVersion: string;
    readonly features: Record<string, boolean | string | null>;
  };
  readonly compare: {
    readonly lightstepTokenFile: { readonly mustExist: boolean; readonly name: string; readonly content?: string };
  };
}

/** Bootstrap documents of the current generation, compared as whole documents. */
export const bootstrap: ConformanceFamily = {
  name: "bootstrap",
  async load(dir) {
    const cases = await loadBootstrapCases(dir);
    return cases.map((entry): ConformanceCase => ({ name: entry.case, run: () => runCase(dir, entry) }));
  },
};

/** Every case that is not marked stale. */
export async function loadBootstrapCases(dir: string): Promise<readonly BootstrapCase[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith(".input.json")).sort();
  const cases = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(dir, file), "utf8")) as BootstrapCase),
  );
  return cases.filter((entry) => entry.stale !== true);
}

/** The inputs of a case, with `configPath` moved to a scratch directory. */
export function bootstrapInputs({ inputs }: BootstrapCase, configPath: string): BootstrapInputs {
  const { features } = inputs;
  const dnsProxy = features.DNS_PROXY_ADDR;
  return {
    rules: generationRules("master").bootstrap,
    nodeId: inputs.nodeId,
    nodeIps: inputs.instanceIPs,
    proxyConfig: proxyConfigJson({ ...inputs.proxyConfig, configPath }),
    env: {
      ISTIO_METAJSON_LABELS: "{}",
      ...inputs.env,
      ...(typeof dnsProxy === "string" && { DNS_PROXY_ADDR: dnsProxy }),
    },
    podLabels: inputs.podLabelsFile,
    podAnnotations: inputs.podAnnotationsFile,
    platform: inputs.platform,
    agent: {
      ...inputs,
      version: inputs.agentVersion,
      pilotSubjectAltNames: inputs.pilotSubjectAltName,
      metadataDiscovery: inputs.metadataDiscovery ?? undefined,
    },
    features: {
      deltaXds: features.ISTIO_DELTA_XDS !== false,
      dualStack: features.ISTIO_DUAL_STACK === true,
      statusPortProxyProtocol: features.ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL === true,
      stripFragmentFromPath: features.HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED !== false,
      xdsViaAgent: true,
      callCredentials: false,
    },
  };
}

async function runCase(dir: string, entry: BootstrapCase): Promise<string | undefined> {
  const scratch = await mkdtemp(join(tmpdir(), "bootstrap-"));
  try {
    const { path } = await writeGeneratedBootstrap(bootstrapInputs(entry, scratch), { log: silentLogger });
    const original = entry.inputs.proxyConfig.configPath ?? "";
    const actual = JSON.parse((await readFile(path, "utf8")).replaceAll(scratch, original)) as Json;
    const golden = JSON.parse(await readFile(join(dir, `${entry.case}.golden.json`), "utf8")) as Json;
    return (
      firstDifference(normalized(golden, golden), normalized(actual, golden), "", "") ??
      (await tokenProblem(entry, scratch)) ??
      tagProblem(actual)
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

// Comparison

/** Keys whose value is free-form: names in it are data. */
const STRUCTS = new Set(["metadata", "static_layer"]);

/** Both sides in one spelling: snake_case names, shortest durations, the golden's placeholders for paths of the machine. */
function normalized(document: Json, golden: Json): unknown {
  const placeholders = { xds: pipePath(golden), token: tokenFile(golden) };
  return normalize(document, placeholders, "");
}

function normalize(
  value: unknown,
  paths: { xds: string | undefined; token: string | undefined },
  key: string,
): unknown {
  if (Array.isArray(value)) return value.map((item) => normalize(item, paths, key));
  if (typeof value === "string") return normalizeText(value, paths, key);
  if (typeof value !== "object" || value === null) return value;
  if (STRUCTS.has(key)) return key === "metadata" ? withFileName(value as Json) : value;
  // A wrapper may be written as a message; proto JSON has the bare value.
  if (Object.keys(value).join() === "value" && typeof (value as Json).value === "number") return (value as Json).value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const snake =
        name.startsWith("@") || name.includes(".")
          ? name
          : name.replaceAll(/[A-Z]/g, (char) => `_${char.toLowerCase()}`);
      return [snake, normalize(item, paths, snake)];
    }),
  );
}

function normalizeText(
  text: string,
  paths: { xds: string | undefined; token: string | undefined },
  key: string,
): string {
  if (key === "path" && text.endsWith("/XDS")) return paths.xds ?? text;
  if (key === "access_token_file") return paths.token ?? text;
  const duration = /^(\d+)(?:\.(\d+))?s$/.exec(text);
  if (duration === null) return text;
  const fraction = (duration[2] ?? "").replace(/0+$/, "");
  return fraction === "" ? `${duration[1]}s` : `${duration[1]}.${fraction}s`;
}

function withFileName(metadata: Json): Json {
  const config = metadata.PROXY_CONFIG as Json | undefined;
  const file = config?.customConfigFile;
  if (typeof file !== "string") return metadata;
  return { ...metadata, PROXY_CONFIG: { ...config, customConfigFile: file.split("/").at(-1) } };
}

function pipePath(document: Json): string | undefined {
  return /"path":"([^"]*\/XDS)"/.exec(JSON.stringify(document))?.[1];
}

function tokenFile(document: Json): string | undefined {
  return /"access_token_file":"([^"]*)"/.exec(JSON.stringify(document))?.[1];
}

/** Fields that are wrappers: an explicit zero differs from absence. Other scalars are equal to absence when they are zero. */
const WRAPPERS = /^(use_all_default_tags|shared_span_context|keepalive_|max_|min_|respect_dns_ttl)/;

function firstDifference(golden: unknown, actual: unknown, path: string, key: string): string | undefined {
  if (isDeepStrictEqual(golden, actual)) return undefined;
  const inStruct = /\.(metadata|static_layer)\b/.test(path);
  if (!inStruct && !WRAPPERS.test(key) && isAbsent(golden) && isAbsent(actual)) return undefined;
  const isBranch = (value: unknown): value is Json => typeof value === "object" && value !== null;
  if (!isBranch(golden) || !isBranch(actual) || Array.isArray(golden) !== Array.isArray(actual)) {
    return `${path || "."}: expected ${JSON.stringify(golden)}, got ${JSON.stringify(actual)}`;
  }
  for (const name of new Set([...Object.keys(golden), ...Object.keys(actual)])) {
    const difference = firstDifference(golden[name], actual[name], `${path}.${name}`, name);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === 0 || value === false || value === "";
}

async function tokenProblem({ compare }: BootstrapCase, scratch: string): Promise<string | undefined> {
  const { mustExist, name, content } = compare.lightstepTokenFile;
  const path = join(scratch, name);
  if (existsSync(path) !== mustExist) return `${name}: ${mustExist ? "missing" : "must not exist"}`;
  if (!mustExist || content === undefined) return undefined;
  const written = await readFile(path, "utf8");
  return written === content
    ? undefined
    : `${name}: expected ${JSON.stringify(content)}, got ${JSON.stringify(written)}`;
}

// Statistics names: group 1 is cut out of the name, group 2 is the label's value.

const IPV6 = "2001:0000:130F:0000:0000:09C0:876A:130B";
const TAG_SAMPLES: readonly (readonly [tag: string, name: string, cut: string, value: string])[] = [
  ...["outbound|443||api.facebook.com", "outbound|443||kubernetes.default.svc.cluster.local", "xds-grpc"].map(
    (cluster) => ["cluster_name", `cluster.${cluster};.upstream_rq_retry`, `.${cluster};`, cluster] as const,
  ),
  ...["0.0.0.0", IPV6, "inbound_0.0.0.0", `inbound_${IPV6}`].flatMap((prefix) =>
    ["downstream_rq_total", "jwt_authn.allowed"].map(
      (stat) => ["http_conn_manager_prefix", `http.${prefix};.${stat}`, `${prefix};.`, prefix] as const,
    ),
  ),
];

function tagProblem(document: Json): string | undefined {
  const tags = (document.stats_config as Json).stats_tags as readonly { tag_name: string; regex: string }[];
  for (const [tag, name, cut, value] of TAG_SAMPLES) {
    const regex = tags.find((candidate) => candidate.tag_name === tag)?.regex ?? "(?!)";
    const matched = new RegExp(regex.replaceAll("[:digit:]", "\\d")).exec(name);
    if (matched?.length !== 3 || matched[1] !== cut || matched[2] !== value) {
      return `tag ${tag} of ${name}: got ${JSON.stringify(matched?.slice(1))}`;
    }
  }
  return undefined;
}
