import { compareText } from "../../istio-api/config-object.ts";
import type { HeaderOperations, Headers } from "../../istio-api/specs/virtual-service.ts";
import type { HeaderValueOption } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { isHeaderSafe } from "./envoy-accepts.ts";
import { formatHeaderValue } from "./header-format.ts";

/** The members that routes and weighted clusters have in common. */
export interface HeaderChanges {
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
