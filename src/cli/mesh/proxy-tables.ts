import { X509Certificate } from "node:crypto";
import { asJsonObject } from "../../base/json-object.ts";

/** Envoy's admin pages as JSON; only what is looked at. */
type Json = Readonly<Record<string, unknown>>;
type Rows = readonly (readonly string[])[];

/** What `proxy-config` can show, with istioctl's columns; each table from the page of Envoy that has it. */
export const PROXY_TABLES = {
  clusters: {
    page: "/config_dump",
    heads: ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
    rows: clusterRows,
  },
  listeners: { page: "/config_dump", heads: ["ADDRESSES", "PORT", "MATCH", "DESTINATION"], rows: listenerRows },
  routes: {
    page: "/config_dump",
    heads: ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"],
    rows: routeRows,
  },
  endpoints: {
    page: "/clusters?format=json",
    heads: ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
    rows: endpointRows,
  },
  secrets: {
    page: "/config_dump",
    heads: ["RESOURCE NAME", "TYPE", "STATUS", "VALID CERT", "SERIAL NUMBER", "NOT AFTER", "NOT BEFORE"],
    rows: secretRows,
  },
} as const satisfies Readonly<Record<string, { page: string; heads: readonly string[]; rows(dump: Json): Rows }>>;

export type ProxyTable = keyof typeof PROXY_TABLES;

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asJsonObject) : [];
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function section(dump: Json, type: string): Json {
  return list(dump.configs).find((config) => text(config["@type"]).endsWith(`.${type}ConfigDump`)) ?? {};
}

function sorted(rows: Rows): Rows {
  return rows.toSorted((a, b) => (a.join("\0") < b.join("\0") ? -1 : 1));
}

/** The object that a resource comes from, by the metadata that the control plane puts there: `NAME.NAMESPACE`. */
function ruleOf(resource: Json): string {
  const path = text(asJsonObject(asJsonObject(asJsonObject(resource.metadata).filter_metadata).istio).config);
  const [, namespace, name] = /\/namespaces\/([^/]+)\/[^/]+\/([^/]+)$/.exec(path) ?? [];
  return name === undefined ? "" : `${name}.${namespace}`;
}

function clusterRows(dump: Json): Rows {
  const found = section(dump, "Clusters");
  const clusters = [...list(found.static_clusters), ...list(found.dynamic_active_clusters)];
  const rows = clusters.map(({ cluster }) => {
    const { name, type, cluster_type: extension, ...rest } = asJsonObject(cluster);
    const [direction, port, subset, host] = text(name).split("|");
    const kind = text(type) || text(asJsonObject(extension).name) || "STATIC";
    return host === undefined
      ? [text(name), "-", "-", "-", kind, ""]
      : [host || text(name), port ?? "-", subset || "-", direction ?? "-", kind, ruleOf(rest)];
  });
  return sorted(rows);
}

function listenerRows(dump: Json): Rows {
  const found = section(dump, "Listeners");
  const listeners = [
    ...list(found.static_listeners).map(({ listener }) => asJsonObject(listener)),
    ...list(found.dynamic_listeners).map(({ active_state: active }) => asJsonObject(asJsonObject(active).listener)),
  ];
  const rows = listeners.flatMap((listener) => {
    const { address, port_value: port } = asJsonObject(asJsonObject(listener.address).socket_address);
    const chains = [...list(listener.filter_chains), ...list([listener.default_filter_chain].filter(Boolean))];
    return chains.map((chain) => [text(address), text(port), matchText(chain), destinationText(chain)]);
  });
  return rows.toSorted((a, b) => Number(a[1]) - Number(b[1]));
}

function matchText({ filter_chain_match: given }: Json): string {
  const match = asJsonObject(given);
  const words = (value: unknown) => (Array.isArray(value) ? value.map(text).join(",") : "");
  const ranges = list(match.prefix_ranges).map(
    ({ address_prefix: address, prefix_len: length }) => `${text(address)}/${text(length) || "0"}`,
  );
  const port = text(match.destination_port);
  const parts = [
    ["SNI", words(match.server_names)],
    ["Trans", text(match.transport_protocol)],
    ["App", words(match.application_protocols)],
    ["Addr", ranges.length > 0 ? ranges.join(",") : port === "" ? "" : `*:${port}`],
  ];
  const said = parts.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`);
  return said.length === 0 ? "ALL" : said.join("; ");
}

function destinationText({ filters }: Json): string {
  for (const filter of list(filters)) {
    const config = asJsonObject(filter.typed_config);
    if (config.rds !== undefined) return `Route: ${text(asJsonObject(config.rds).route_config_name)}`;
    if (config.route_config !== undefined) return `Inline Route: ${inlineRoutes(asJsonObject(config.route_config))}`;
    if (config.cluster !== undefined) return `Cluster: ${text(config.cluster)}`;
    const weighted = list(asJsonObject(config.weighted_clusters).clusters);
    if (weighted.length > 0)
      return weighted.map(({ name, weight }) => `Cluster: ${text(name)} (${text(weight)})`).join(", ");
  }
  return "Non-HTTP/Non-TCP";
}

function inlineRoutes({ virtual_hosts: hosts }: Json): string {
  return [
    ...new Set(list(hosts).flatMap(({ routes }) => list(routes).map(({ match }) => pathText(asJsonObject(match))))),
  ].join(", ");
}

function pathText(match: Json): string {
  if (match.prefix !== undefined) return `${text(match.prefix)}*`;
  if (match.path !== undefined) return text(match.path);
  if (match.path_separated_prefix !== undefined) return `${text(match.path_separated_prefix)}*`;
  const { regex } = asJsonObject(match.safe_regex);
  return regex === undefined ? "*" : `regex ${text(regex)}`;
}

function routeRows(dump: Json): Rows {
  const found = section(dump, "Routes");
  const routes = [...list(found.static_route_configs), ...list(found.dynamic_route_configs)];
  const rows = routes.flatMap(({ route_config: config }) => {
    const { name, virtual_hosts: hosts } = asJsonObject(config);
    return list(hosts).flatMap((host) => {
      const domains = Array.isArray(host.domains) ? host.domains.map(text) : [];
      const shown =
        domains.length > 1
          ? `${domains[0]}, ${domains[1]}${domains.length > 2 ? " + " : ""}${domains.length > 2 ? `${domains.length - 2} more...` : ""}`
          : (domains[0] ?? "");
      return list(host.routes).map((route) => [
        text(name),
        text(host.name),
        shown,
        pathText(asJsonObject(route.match)),
        route.direct_response === undefined ? ruleOf(route) : `${ruleOf(route)} (direct response)`.trim(),
      ]);
    });
  });
  return sorted(rows);
}

function endpointRows(dump: Json): Rows {
  const rows = list(dump.cluster_statuses).flatMap(({ name, host_statuses: hosts }) =>
    list(hosts).map(({ address, health_status: health }) => {
      const socket = asJsonObject(asJsonObject(address).socket_address);
      const pipe = text(asJsonObject(asJsonObject(address).pipe).path);
      const states = asJsonObject(health);
      const status = states.eds_health_status === undefined ? "HEALTHY" : text(states.eds_health_status);
      const outlier = states.failed_outlier_check === true ? "FAILED" : "OK";
      const where = pipe === "" ? `${text(socket.address)}:${text(socket.port_value)}` : `unix://${pipe}`;
      return [where, status, outlier, text(name)];
    }),
  );
  return sorted(rows);
}

function secretRows(dump: Json): Rows {
  const found = section(dump, "Secrets");
  const states = [
    ["ACTIVE", list(found.dynamic_active_secrets)],
    ["WARMING", list(found.dynamic_warming_secrets)],
  ] as const;
  return states.flatMap(([state, secrets]) =>
    secrets.flatMap(({ name, secret }) => {
      const chain = asJsonObject(asJsonObject(asJsonObject(secret).tls_certificate).certificate_chain).inline_bytes;
      const roots = asJsonObject(asJsonObject(asJsonObject(secret).validation_context).trusted_ca).inline_bytes;
      const pem = text(chain ?? roots);
      if (pem === "") return [[text(name), "", state, "false", "", "", ""]];
      return certificatesOf(pem).map(({ serialNumber, validTo, validFrom }) => [
        text(name),
        chain === undefined ? "CA" : "Cert Chain",
        state,
        String(Date.now() >= Date.parse(validFrom) && Date.now() < Date.parse(validTo)),
        serialNumber.toLowerCase(),
        isoTime(validTo),
        isoTime(validFrom),
      ]);
    }),
  );
}

/** The first of a chain is the workload's own; of a bundle every root counts. */
function certificatesOf(base64: string): readonly X509Certificate[] {
  const blocks = Buffer.from(base64, "base64")
    .toString("utf8")
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  return (blocks ?? []).slice(0, 1).map((block) => new X509Certificate(block));
}

function isoTime(date: string): string {
  return new Date(date).toISOString().replace(".000Z", "Z");
}
