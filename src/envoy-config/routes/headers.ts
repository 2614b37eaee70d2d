import { compareText } from "../../istio-api/config-object.ts";
import type { HeaderOperations, Headers } from "../../istio-api/specs.ts";
import type { HeaderValueOption } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { isHeaderSafe } from "./envoy-values.ts";

/** The members that routes and weighted clusters have in common. */
interface HeaderChanges {
  readonly requestHeadersToAdd?: readonly HeaderValueOption[];
  readonly requestHeadersToRemove?: readonly string[];
  readonly responseHeadersToAdd?: readonly HeaderValueOption[];
  readonly responseHeadersToRemove?: readonly string[];
}

export function buildHeaderChanges(headers: Headers | undefined): HeaderChanges {
  return {
    ...nonEmpty("requestHeadersToAdd", additions(headers?.request)),
    ...nonEmpty("requestHeadersToRemove", removals(headers?.request)),
    ...nonEmpty("responseHeadersToAdd", additions(headers?.response)),
    ...nonEmpty("responseHeadersToRemove", removals(headers?.response)),
  };
}

/** Those of the route first, then those of its destination. */
export function joinHeaderChanges(first: HeaderChanges, second: HeaderChanges): HeaderChanges {
  const joined = <Of>(a: readonly Of[] = [], b: readonly Of[] = []) => [...a, ...b];
  return {
    ...nonEmpty("requestHeadersToAdd", joined(first.requestHeadersToAdd, second.requestHeadersToAdd)),
    ...nonEmpty("requestHeadersToRemove", joined(first.requestHeadersToRemove, second.requestHeadersToRemove)),
    ...nonEmpty("responseHeadersToAdd", joined(first.responseHeadersToAdd, second.responseHeadersToAdd)),
    ...nonEmpty("responseHeadersToRemove", joined(first.responseHeadersToRemove, second.responseHeadersToRemove)),
  };
}

/** The authority that these operations give a request: Envoy wants it as a rewrite of the host, not as a header. */
export function authorityOf(headers: Headers | undefined): string | undefined {
  const { set = {}, add = {} } = headers?.request ?? {};
  const [, value] = [...Object.entries(set), ...Object.entries(add)].find(([name]) => isAuthority(name)) ?? [];
  return value === undefined || value === "" || !isHeaderSafe(value) ? undefined : value;
}

function additions(operations: HeaderOperations | undefined): readonly HeaderValueOption[] {
  if (operations === undefined) return [];
  return [...options(operations.set, { appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" }), ...options(operations.add, {})];
}

function options(headers: Readonly<Record<string, string>>, how: HeaderValueOption): readonly HeaderValueOption[] {
  return Object.entries(headers)
    .filter(([name, value]) => isChangeable(name) && isHeaderSafe(value))
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => ({ header: { key, value: formatHeaderValue(value) }, ...how }));
}

function removals(operations: HeaderOperations | undefined): readonly string[] {
  return operations?.remove.filter(isChangeable) ?? [];
}

/** Envoy refuses to change the others. */
function isChangeable(name: string): boolean {
  return name !== "" && !name.startsWith(":") && name.toLowerCase() !== "host" && isHeaderSafe(name);
}

function isAuthority(name: string): boolean {
  return name.toLowerCase() === ":authority" || name.toLowerCase() === "host";
}

function nonEmpty<Name extends string, Value>(
  name: Name,
  values: readonly Value[],
): { readonly [Key in Name]?: readonly Value[] } {
  return values.length === 0 ? {} : ({ [name]: values } as { readonly [Key in Name]?: readonly Value[] });
}

/**
 * Envoy reads header values as format strings: `%DOWNSTREAM_REMOTE_ADDRESS%` is replaced, and a percent sign that begins no command
 * makes it refuse the configuration. Known commands stay; every other percent sign is sent as itself.
 */
export function formatHeaderValue(value: string): string {
  if (!value.includes("%")) return value;
  return value.replace(COMMAND, (text, name: string | undefined, argument: string | undefined) => {
    if (text === "%%") return text;
    return name !== undefined && isKnown(name, argument) ? text : text.replaceAll("%", "%%");
  });
}

const COMMAND = /%%|%([A-Z][A-Z0-9_]*)(?:\(([^()%]*)\))?(?::\d+)?%|%/g;

function isKnown(name: string, argument: string | undefined): boolean {
  if (PLAIN_COMMANDS.has(name)) return argument === undefined;
  if (HEADER.has(name)) return argument !== undefined && /^[^?\s]+(\?[^?\s]+)?$/.test(argument);
  return name === "START_TIME" && argument === undefined;
}

/** Takes the name of a header, and one to fall back to. */
const HEADER = new Set(["REQ", "RESP", "TRAILER"]);

/** Commands without argument. */
export const PLAIN_COMMANDS: ReadonlySet<string> = new Set([
  "BYTES_RECEIVED",
  "CONNECTION_ID",
  "CONNECTION_TERMINATION_DETAILS",
  "DOWNSTREAM_DIRECT_LOCAL_ADDRESS",
  "DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_DIRECT_REMOTE_ADDRESS",
  "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_LOCAL_ADDRESS",
  "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_LOCAL_DNS_SAN",
  "DOWNSTREAM_LOCAL_PORT",
  "DOWNSTREAM_LOCAL_SUBJECT",
  "DOWNSTREAM_LOCAL_URI_SAN",
  "DOWNSTREAM_PEER_CERT",
  "DOWNSTREAM_PEER_DNS_SAN",
  "DOWNSTREAM_PEER_FINGERPRINT_1",
  "DOWNSTREAM_PEER_FINGERPRINT_256",
  "DOWNSTREAM_PEER_ISSUER",
  "DOWNSTREAM_PEER_SERIAL",
  "DOWNSTREAM_PEER_SUBJECT",
  "DOWNSTREAM_PEER_URI_SAN",
  "DOWNSTREAM_REMOTE_ADDRESS",
  "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_REMOTE_PORT",
  "DOWNSTREAM_TLS_CIPHER",
  "DOWNSTREAM_TLS_SESSION_ID",
  "DOWNSTREAM_TLS_VERSION",
  "DOWNSTREAM_TRANSPORT_FAILURE_REASON",
  "HOSTNAME",
  "PROTOCOL",
  "REQUESTED_SERVER_NAME",
  "RESPONSE_CODE",
  "RESPONSE_CODE_DETAILS",
  "RESPONSE_FLAGS",
  "ROUTE_NAME",
  "STREAM_ID",
  "UPSTREAM_CLUSTER",
  "UPSTREAM_HOST",
  "UPSTREAM_LOCAL_ADDRESS",
  "UPSTREAM_REMOTE_ADDRESS",
  "UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
  "UPSTREAM_TRANSPORT_FAILURE_REASON",
  "VIRTUAL_CLUSTER_NAME",
]);
