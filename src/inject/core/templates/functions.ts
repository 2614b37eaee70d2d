import { posix } from "node:path";
import { formatDuration, parseDuration } from "../../../base/duration.ts";
import { isJsonObject } from "../../../base/json-object.ts";
import { printYaml } from "../../../files/yaml/print-yaml.ts";
import type { MeshConfig } from "../../../istio-api/mesh-config/mesh-config.ts";
import type { ProxyConfig } from "../../../istio-api/proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../../../istio-api/proxy-config/proxy-config-rules.ts";
import { type FunctionTable, fixed, GoStruct, SPRIG_FUNCTIONS, variadic } from "../../../template/index.ts";
import { containerPorts, excludeInboundPort } from "../builtin/inbound-ports.ts";
import { appendMultusNetwork } from "../builtin/multus.ts";
import { otelResourceAttributes } from "../builtin/otel.ts";
import { withoutNulls } from "../builtin/resources.ts";
import { cleanProxyConfigText } from "../clean-proxy-config.ts";
import { PROXY_CONTAINER } from "../context.ts";
import { goJson, type Json } from "../json.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Sprig and the functions that injection templates have beside it; where both have a name, the latter count. */
export function injectionFunctions(env: Env, rules: ProxyConfigRules): FunctionTable {
  return {
    ...SPRIG_FUNCTIONS,
    formatDuration: fixed(1, ([value]) => formatDuration(parseDuration(String(plain(value))))),
    isset: fixed(2, ([map, key]) => map instanceof Map && map.has(text(key))),
    excludeInboundPort: fixed(2, ([port, list]) => excludeInboundPort(text(port), text(list))),
    includeInboundPorts: fixed(1, ([containers]) => containerPorts(plainList(containers))),
    applicationPorts: fixed(1, ([containers]) =>
      containerPorts(plainList(containers).filter(({ name }) => name !== PROXY_CONTAINER)),
    ),
    kubevirtInterfaces: fixed(1, ([list]) => list),
    excludeInterfaces: fixed(1, ([list]) => list),
    annotation: fixed(3, ([meta, name, fallback]) => annotation(meta, text(name), fallback)),
    valueOrDefault: fixed(2, ([value, fallback]) =>
      value === "" || value === null || value === undefined ? fallback : value,
    ),
    toJSON: fixed(1, ([map]) => goJson(textEntries(map))),
    fromJSON: fixed(1, ([json]) => parsedJson(text(json))),
    structToJSON: fixed(1, ([value]) => (value === null || value === undefined ? "{}" : goJson(plain(value)))),
    protoToJSON: fixed(1, ([message]) =>
      message === null || message === undefined ? "{}" : cleanProxyConfigText(plain(message) as ProxyConfig, rules),
    ),
    toYaml: fixed(1, ([value]) => printYaml(plain(value) ?? null)),
    indent: fixed(2, ([spaces, source]) => text(source).replaceAll("\n", `\n${" ".repeat(Number(spaces))}`)),
    directory: fixed(1, ([path]) => directory(text(path))),
    contains: fixed(2, ([needle, haystack]) => text(haystack).includes(text(needle))),
    toLower: fixed(1, ([value]) => text(value).toLowerCase()),
    appendMultusNetwork: fixed(2, ([existing, network]) => appendMultusNetwork(text(existing), text(network))),
    env: fixed(2, ([name, fallback]) => env[text(name)] || text(fallback)),
    omit: variadic(0, ([map, ...keys]) => {
      const left = Object.entries(textEntries(map)).filter(([key]) => !keys.includes(key));
      return Object.fromEntries(left);
    }),
    strdict: variadic(0, (words) =>
      Object.fromEntries(
        words.flatMap((word, index) => (index % 2 === 0 ? [[text(word), text(words[index + 1] ?? "")]] : [])),
      ),
    ),
    toJsonMap: variadic(0, (maps) => goJson(sorted(merged(maps)))),
    mergeMaps: variadic(0, merged),
    omitNil: fixed(1, ([value]) => withoutNulls(plain(value)) ?? null),
    otelResourceAttributes: fixed(5, ([mesh, annotations, labels, namespace, containers]) =>
      otelResourceAttributes(
        plain(mesh) as MeshConfig,
        textEntries(annotations),
        textEntries(labels),
        text(namespace),
        plainList(containers),
      ),
    ),
  };
}

/** As Go prints a value; nil is `<nil>`. */
function text(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}

function annotation(meta: unknown, name: string, fallback: unknown): string {
  const annotations: unknown = meta instanceof GoStruct ? meta.get("Annotations") : undefined;
  if (annotations instanceof Map && annotations.has(name)) return String(annotations.get(name));
  return text(fallback);
}

/** JSON data of what a template holds. */
function plain(value: unknown): unknown {
  if (value instanceof GoStruct) return value.toJSON();
  if (value instanceof Map) return Object.fromEntries(value);
  return value;
}

function plainList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(plain).filter(isJsonObject) : [];
}

function textEntries(map: unknown): Record<string, string> {
  const entries = map instanceof Map ? [...map] : Object.entries(isJsonObject(map) ? map : {});
  return sorted(Object.fromEntries(entries.map(([key, value]) => [String(key), text(value)])));
}

function sorted(map: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function merged(maps: readonly unknown[]): Record<string, string> {
  return Object.assign({}, ...maps.map(textEntries)) as Record<string, string>;
}

function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return "{}";
  }
}

function directory(path: string): string {
  if (!path.includes("/")) return "";
  const parent = posix.dirname(path);
  return parent.endsWith("/") ? parent : `${parent}/`;
}
