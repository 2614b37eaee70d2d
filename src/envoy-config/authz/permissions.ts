import type { AuthorizationOperation } from "../../istio-api/specs.ts";
import { isPathTemplate, parsePathTemplate } from "../../istio-api/validation/authorization-policy-path.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Permission } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { parseCidr } from "../shared/cidr.ts";
import { type Attribute, attribute, type Clause, matchHeader, matchText } from "./clause.ts";

/** What an operation asks, in the order in which it is cheap to find out. */
export function operationClauses(operation: AuthorizationOperation): readonly Clause<Permission>[] {
  const { hosts, notHosts, methods, notMethods, paths, notPaths, ports, notPorts } = operation;
  return [
    { attribute: HOST, values: hosts, notValues: notHosts },
    { attribute: METHOD, values: methods, notValues: notMethods },
    { attribute: PATH, values: paths, notValues: notPaths },
    { attribute: PORT, values: ports, notValues: notPorts },
  ];
}

/** Attributes of conditions that are about what is called, not about who calls. */
export function permissionAttribute(key: string): Attribute<Permission> | undefined {
  if (key === "destination.ip") return ADDRESS;
  if (key === "destination.port") return PORT;
  if (key === "connection.sni") return SERVER_NAME;
  const [, filter = "", path = ""] = /^experimental\.(envoy\.filters\.[^[\]]+)\[(.+)\]$/.exec(key) ?? [];
  return filter === "" ? undefined : filterMetadata(filter, path);
}

export function allPermissions(rules: readonly Permission[]): Permission {
  const [only = { any: true }, ...more] = rules;
  return more.length === 0 ? only : { andRules: { rules } };
}

export function notPermission(notRule: Permission): Permission {
  return { notRule };
}

function anyPermission(rules: readonly Permission[]): Permission {
  const [only, ...more] = rules;
  return only !== undefined && more.length === 0 ? only : { orRules: { rules } };
}

const HOST = attribute<Permission>("http", anyPermission, (value) => ({
  header: matchHeader(":authority", value, true),
}));
const METHOD = attribute<Permission>("http", anyPermission, (value) => ({ header: matchHeader(":method", value) }));
const PATH = attribute<Permission>("http", anyPermission, (value) => {
  if (!isPathTemplate(value)) return { urlPath: { path: matchText(value) } };
  const pathTemplate = parsePathTemplate(value);
  if (pathTemplate === undefined) return undefined;
  return {
    uriTemplate: {
      name: "uri-template",
      typedConfig: pack("envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig", { pathTemplate }),
    },
  };
});
const PORT = attribute<Permission>("any", anyPermission, (value) => {
  const destinationPort = Number(value);
  const isPort = /^\d{1,5}$/.test(value) && destinationPort >= 1 && destinationPort <= 65535;
  return isPort ? { destinationPort } : undefined;
});
const ADDRESS = attribute<Permission>("any", anyPermission, (value) => {
  const destinationIp = parseCidr(value);
  return destinationIp && { destinationIp };
});
const SERVER_NAME = attribute<Permission>("any", anyPermission, (value) => ({
  requestedServerName: matchText(value),
}));

/** What another filter found out; `[value]` is looked for in a list. */
function filterMetadata(filter: string, key: string): Attribute<Permission> {
  return {
    isHttpOnly: false,
    anyOf(values) {
      const matchers = values.map(matchFinding);
      const [only, ...more] = matchers;
      const value = only !== undefined && more.length === 0 ? only : { orMatch: { valueMatchers: matchers } };
      return { metadata: { filter, path: [{ key }], value } };
    },
  };
}

function matchFinding(value: string): ValueMatcher {
  const isList = value.startsWith("[") && value.endsWith("]");
  const text = { stringMatch: matchText(isList ? value.slice(1, -1) : value) };
  return isList ? { listMatch: { oneOf: text } } : text;
}
