import { asJsonObject } from "../../base/json-object.ts";
import type { ListenerState, Origin, RouteState } from "../api.ts";
import type { ConfigOrigins } from "./config-origins.ts";
import { addressText, type ConfigDump, clusterLabel, markedOrigins } from "./describe-clusters.ts";
import { list } from "./route-rules.ts";

type Value = Readonly<Record<string, unknown>>;

export function describeListeners({ listeners }: ConfigDump, origins: ConfigOrigins): readonly ListenerState[] {
  return listeners.map((listener) => {
    const name = String(listener.name ?? "");
    const known = origins.listener(name);
    const chains = [
      ...list(listener.filter_chains),
      ...(listener.default_filter_chain === undefined ? [] : [listener.default_filter_chain]),
    ];
    return {
      name,
      address: addressText(listener.address),
      direction:
        listener.traffic_direction === "INBOUND"
          ? "inbound"
          : listener.traffic_direction === "OUTBOUND"
            ? "outbound"
            : "agent",
      chains: chains.map(asJsonObject).map(chainText),
      origins: known.length > 0 ? known : markedOrigins(listener),
      parts: origins.listenerParts(name),
      ...(listener.refusedBecause === undefined ? {} : { error: String(listener.refusedBecause) }),
    };
  });
}

function chainText(chain: Value): string {
  const match = asJsonObject(chain.filter_chain_match);
  const conditions = [
    match.transport_protocol === "tls" ? "TLS" : match.transport_protocol === "raw_buffer" ? "plain text" : undefined,
    joined("server name", match.server_names),
    joined("protocol", match.application_protocols),
    match.destination_port === undefined ? undefined : `port ${match.destination_port}`,
    joined(
      "to",
      list(match.prefix_ranges).map(
        (range) => `${asJsonObject(range).address_prefix}/${asJsonObject(range).prefix_len ?? 0}`,
      ),
    ),
  ].filter((each) => each !== undefined);
  const filters = list(chain.filters).map(asJsonObject);
  const last = filters.at(-1);
  const config = asJsonObject(last?.typed_config);
  const target =
    config["@type"] !== undefined && String(config["@type"]).includes("HttpConnectionManager")
      ? `HTTP, ${routeName(config)}`
      : tcpTarget(config, last);
  const rbac = filters.some(({ name }) => String(name).includes("rbac")) ? ", callers checked" : "";
  return `${conditions.length === 0 ? "anything" : conditions.join(", ")} -> ${target}${rbac}`;
}

function joined(word: string, values: unknown): string | undefined {
  const all = list(values);
  return all.length === 0 ? undefined : `${word} ${all.join(" or ")}`;
}

function routeName(manager: Value): string {
  const { rds, route_config: own } = manager;
  return rds === undefined
    ? `routes of its own (${asJsonObject(own).name ?? "unnamed"})`
    : `routes ${asJsonObject(rds).route_config_name}`;
}

function tcpTarget(config: Value, filter: Value | undefined): string {
  const weighted = list(asJsonObject(config.weighted_clusters).clusters).map(asJsonObject);
  if (weighted.length > 0)
    return `TCP to ${weighted.map(({ name, weight }) => `${clusterLabel(String(name))} (${weight})`).join(", ")}`;
  return config.cluster === undefined
    ? String(filter?.name ?? "nothing")
    : `TCP to ${clusterLabel(String(config.cluster))}`;
}

/** Routes as sentences, in the order in which Envoy tries them. */
export function describeRoutes({ routes, listeners }: ConfigDump, origins: ConfigOrigins): readonly RouteState[] {
  const inline = listeners
    .flatMap((listener) => list(listener.filter_chains).map(asJsonObject))
    .flatMap((chain) => list(chain.filters).map(asJsonObject))
    .flatMap(({ typed_config }) => asJsonObject(typed_config).route_config ?? [])
    .map(asJsonObject);
  const seen = new Set<string>();
  return [...routes, ...inline].flatMap((config) => {
    const name = String(config.name ?? "");
    if (seen.has(name)) return [];
    seen.add(name);
    const hosts = list(config.virtual_hosts)
      .map(asJsonObject)
      .map((host) => {
        const hostName = String(host.name ?? "");
        return {
          name: hostName,
          domains: list(host.domains).map(String),
          rules: list(host.routes)
            .map(asJsonObject)
            .map((route, index) => ruleOf(route, origins.rule(name, hostName, index))),
          origins: origins.host(name, hostName),
        };
      });
    return [{ name, hosts }];
  });
}

function ruleOf(route: Value, known: readonly Origin[]): RouteState["hosts"][number]["rules"][number] {
  return {
    text: `${matchText(asJsonObject(route.match))} -> ${actionText(route)}`,
    origins: known.length > 0 ? known : markedOrigins(route),
  };
}

function matchText(match: Value): string {
  const path =
    match.path !== undefined
      ? String(match.path)
      : match.path_separated_prefix !== undefined
        ? `${match.path_separated_prefix} and below`
        : match.safe_regex !== undefined
          ? `paths like ${asJsonObject(match.safe_regex).regex}`
          : match.prefix === undefined || match.prefix === "/"
            ? "all paths"
            : `${match.prefix}...`;
  const headers = list(match.headers).map(asJsonObject).map(headerText);
  const query = list(match.query_parameters)
    .map(asJsonObject)
    .map(({ name }) => `query has ${name}`);
  const conditions = [...headers, ...query];
  return conditions.length === 0 ? path : `${path} when ${conditions.join(" and ")}`;
}

function headerText({ name, string_match, present_match, invert_match }: Value): string {
  const [how, value] = Object.entries(asJsonObject(string_match))[0] ?? [];
  const subject = name === ":method" ? "method" : `header ${name}`;
  const not = invert_match === true ? "not " : "";
  if (present_match !== undefined || how === undefined) return `${subject} is ${not}there`;
  const text = how === "safe_regex" ? `like ${asJsonObject(value).regex}` : how === "exact" ? value : `${how} ${value}`;
  return `${subject} is ${not}${text}`;
}

function actionText(route: Value): string {
  if (route.redirect !== undefined) return "redirect";
  if (route.direct_response !== undefined) return `answer ${asJsonObject(route.direct_response).status}`;
  const action = asJsonObject(route.route);
  const weighted = list(asJsonObject(action.weighted_clusters).clusters).map(asJsonObject);
  const total = weighted.reduce((sum, { weight }) => sum + Number(weight ?? 0), 0);
  const target =
    weighted.length > 0
      ? weighted
          .map(
            ({ name, weight }) =>
              `${clusterLabel(String(name))} (${Math.round((100 * Number(weight ?? 0)) / (total || 1))}%)`,
          )
          .join(", ")
      : clusterLabel(String(action.cluster ?? action.cluster_header ?? "nothing"));
  const retries = asJsonObject(action.retry_policy);
  const fault = asJsonObject(
    Object.values(asJsonObject(route.typed_per_filter_config))
      .map(asJsonObject)
      .find((each) => String(each["@type"]).includes("HTTPFault")),
  );
  const notes = [
    action.timeout === undefined || action.timeout === "0s" ? undefined : `timeout ${action.timeout}`,
    retries.num_retries === undefined ? undefined : `${retries.num_retries} retries`,
    fault.delay === undefined ? undefined : `delayed by ${asJsonObject(fault.delay).fixed_delay}`,
    fault.abort === undefined ? undefined : `answered ${asJsonObject(fault.abort).http_status ?? "with an error"}`,
    list(action.request_mirror_policies).length > 0 ? "mirrored" : undefined,
  ].filter((each) => each !== undefined);
  return [target, ...notes].join("; ");
}
