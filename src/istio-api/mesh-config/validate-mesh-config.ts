import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import type { ValidationProblem } from "../proxy-config/explain-problems.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";
import { proxyConfigProblems, proxyConfigWarnings } from "../proxy-config/validate-proxy-config.ts";
import { portProblem } from "../values/address.ts";
import { trustDomainProblem, wildcardDomainProblem } from "../values/dns-name.ts";
import { durationProblem, durationRangeProblem, millisecondsProblem } from "../values/duration-problem.ts";
import { formatErrorList } from "../values/error-list.ts";
import { defaultTrafficPolicyProblems } from "./default-traffic-policy.ts";
import { localityLbProblems, zoneAwareLbProblems } from "./locality-lb.ts";
import type { HttpRetry, MeshConfig } from "./mesh-config.ts";

const MILLISECOND = 1_000_000n;
const HOUR = 3_600_000n * MILLISECOND;
const ECDH_CURVES = new Set(["P-256", "P-384", "P-521", "X25519", "X25519MLKEM768"]);
/** Reported without the list around them when nothing else is wrong. */
const BARE_WHEN_ALONE = new Set([
  "proxyListenPort",
  "connectTimeout",
  "protocolDetectionTimeout",
  "localityLbSetting",
  "zoneAwareLbSetting",
  "defaultTrafficPolicy",
]);

/** All broken rules of a mesh file in the reference's order; empty when it is usable. */
export function meshConfigProblems(config: MeshConfig, rules: ProxyConfigRules): readonly ValidationProblem[] {
  return [
    ...one("proxyListenPort", "invalid proxy listen port: ", portProblem(config.proxyListenPort ?? 0)),
    ...one("connectTimeout", "invalid connect timeout: ", connectTimeoutProblem(config)),
    ...one(
      "protocolDetectionTimeout",
      "invalid protocol detection timeout: ",
      millisecondsProblem(parseProtoDuration(config.protocolDetectionTimeout ?? "0s")),
    ),
    ...defaultConfigProblems(config, rules),
    ...localityLbProblems(config.localityLbSetting ?? {}),
    ...zoneAwareLbProblems(config.zoneAwareLbSetting ?? {}),
    ...serviceSettingsProblems(config),
    ...trustDomainProblems(config),
    ...((config.meshMTLS?.ecdhCurves ?? []).length > 0
      ? [{ field: "meshMTLS.ecdhCurves", message: "mesh TLS does not support ECDH curves configuration" }]
      : []),
    ...defaultTrafficPolicyProblems(config.defaultTrafficPolicy ?? {}),
    ...inboundRetryProblems(config.defaultInboundHttpRetryPolicy),
  ];
}

/** The text of an unusable mesh file. */
export function formatMeshProblems(problems: readonly ValidationProblem[]): string {
  const [first] = problems;
  if (problems.length === 1 && first !== undefined && BARE_WHEN_ALONE.has(first.field.split(".")[0] ?? ""))
    return first.message;
  return formatErrorList(problems.map((problem) => problem.message));
}

export function meshConfigWarnings(config: MeshConfig): readonly string[] {
  return [
    ...proxyConfigWarnings(config.defaultConfig ?? {}),
    ...curveWarnings(config.tlsDefaults?.ecdhCurves ?? []),
    ...inboundRetryWarnings(config.defaultInboundHttpRetryPolicy),
  ];
}

function one(field: string, prefix: string, reason: string | undefined): readonly ValidationProblem[] {
  return reason === undefined ? [] : [{ field, message: `${prefix}${reason}` }];
}

/** Too short or not in whole milliseconds hides the range, whose text would only confuse. */
function connectTimeoutProblem(config: MeshConfig): string | undefined {
  const timeout = parseProtoDuration(config.connectTimeout ?? "0s");
  return durationProblem(timeout) ?? durationRangeProblem(timeout, MILLISECOND, HOUR);
}

function defaultConfigProblems({ defaultConfig }: MeshConfig, rules: ProxyConfigRules): readonly ValidationProblem[] {
  if (defaultConfig === undefined) return [{ field: "defaultConfig", message: "missing default config" }];
  return proxyConfigProblems(defaultConfig, rules).map((problem) => ({
    ...problem,
    field: `defaultConfig.${problem.field}`,
  }));
}

function serviceSettingsProblems({ serviceSettings = [] }: MeshConfig): readonly ValidationProblem[] {
  return serviceSettings.flatMap(({ hosts = [] }, index) =>
    hosts.flatMap((host) =>
      one(
        `serviceSettings[${index}].hosts`,
        `serviceSettings[${index}], host \`${host}\`: `,
        wildcardDomainProblem(host),
      ),
    ),
  );
}

/** Aliases are reported by their index in the sorted union, which is the list that is in force. */
function trustDomainProblems({ trustDomain = "", trustDomainAliases = [] }: MeshConfig): readonly ValidationProblem[] {
  return [
    ...one("trustDomain", "trustDomain: ", trustDomainProblem(trustDomain)),
    ...trustDomainAliases.flatMap((alias, index) =>
      one(
        `trustDomainAliases[${index}]`,
        `trustDomainAliases[${index}], domain \`${alias}\` : `,
        trustDomainProblem(alias),
      ),
    ),
  ];
}

/** Unknown curves are left to Envoy, which may know them by now. */
function curveWarnings(curves: readonly string[]): readonly string[] {
  const unknown = sortedSet(curves.filter((curve) => !ECDH_CURVES.has(curve)));
  const repeated = sortedSet(curves.filter((curve, at) => ECDH_CURVES.has(curve) && curves.indexOf(curve) !== at));
  return [
    ...(unknown.length > 0 ? [`detected unrecognized ECDH curves: [${unknown.join(" ")}]`] : []),
    ...(repeated.length > 0 ? [`detected duplicate ECDH curves: [${repeated.join(" ")}]`] : []),
  ];
}

function sortedSet(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}

const FIELD = "defaultInboundHttpRetryPolicy";

/** Rules of retries towards the application. */
function inboundRetryProblems(policy: HttpRetry | undefined): readonly ValidationProblem[] {
  if (policy === undefined) return [];
  const problems: ValidationProblem[] = [];
  const add = (member: string, message: string) => problems.push({ field: `${FIELD}.${member}`, message });
  if ((policy.attempts ?? 0) < 0) add("attempts", "attempts cannot be negative");
  if ((policy.attempts ?? 0) === 0 && (policy.retryOn ?? "") !== "") {
    add("attempts", "http retry policy configured when attempts are set to 0 (disabled)");
  }
  if (policy.backoff !== undefined) {
    const reason = durationProblem(parseProtoDuration(policy.backoff));
    if (reason !== undefined) add("backoff", `backoff ${reason}`);
  }
  return problems;
}

/** Members that make no sense where there is exactly one host to ask. */
function inboundRetryWarnings(policy: HttpRetry | undefined): readonly string[] {
  const ignored = (["perTryTimeout", "retryRemoteLocalities", "retryIgnorePreviousHosts"] as const).filter(
    (name) => policy?.[name] !== undefined,
  );
  return ignored.map((name) => `${FIELD}: ${name} is ignored for inbound retries`);
}
