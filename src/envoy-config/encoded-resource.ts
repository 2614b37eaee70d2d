import { createHash } from "node:crypto";
import { MessageBuffer } from "../protobuf/binary/message-buffer.ts";
import { encodeAny, encodeMessage } from "../protobuf/envoy/index.ts";
import type { RouteConfiguration, VirtualHost } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { MessageTypes } from "../protobuf/gen/envoy-types.ts";
import { WIRE_BYTES } from "../protobuf/wire/wire-reader.ts";
import type { EncodedResource, ResourceSet } from "../xds/resource-source.ts";
import { ROUTE_TYPE } from "../xds/type-urls.ts";

/** Field `virtual_hosts` of a RouteConfiguration. */
const VIRTUAL_HOSTS = 2;

export function encodeResource<Name extends keyof MessageTypes & string>(
  type: Name,
  name: string,
  value: MessageTypes[Name],
): EncodedResource {
  return encodedResource(name, encodeAny(type, value));
}

export function encodedResource(name: string, any: Buffer): EncodedResource {
  return { name, any, version: contentVersion(any) };
}

/** Short, and equal for equal content wherever it is computed. */
function contentVersion(content: Buffer | string): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 16);
}

/** Virtual hosts that stayed the same values are not encoded again: a route configuration may hold thousands of them. */
export function createRouteEncoder(): (route: RouteConfiguration) => EncodedResource {
  const encoded = new WeakMap<VirtualHost, Buffer>();
  const encodeHost = (host: VirtualHost): Buffer => {
    const known = encoded.get(host);
    if (known !== undefined) return known;
    const bytes = encodeMessage("envoy.config.route.v3.VirtualHost", host);
    encoded.set(host, bytes);
    return bytes;
  };
  return ({ virtualHosts = [], ...rest }) => {
    const out = new MessageBuffer();
    out.tag(1, WIRE_BYTES);
    out.text(ROUTE_TYPE);
    out.tag(2, WIRE_BYTES);
    const start = out.open();
    out.raw(encodeMessage("envoy.config.route.v3.RouteConfiguration", rest));
    for (const host of virtualHosts) {
      const bytes = encodeHost(host);
      out.tag(VIRTUAL_HOSTS, WIRE_BYTES);
      out.bytes(bytes);
    }
    out.close(start);
    return encodedResource(rest.name ?? "", out.finish());
  };
}

/** Field `resources` of a DiscoveryResponse. */
const RESOURCES = 2;

/** Everything that is derived from the resources is made when it is first asked for. */
export function createResourceSet(resources: readonly EncodedResource[]): ResourceSet {
  const index = lazy(() => new Map(resources.map((resource) => [resource.name, resource])));
  const version = lazy(() => contentVersion(resources.map(({ name, version }) => `${name}\n${version}\n`).join("")));
  const body = lazy(() => (resources.length === 0 ? [] : [encodeBody(resources)]));
  return {
    resources,
    parts: [resources],
    get version() {
      return version();
    },
    get sotwBody() {
      return body();
    },
    get: (name) => index().get(name),
  };
}

/** One set after another; the pieces stay shared. */
export function joinSets(first: ResourceSet, second: ResourceSet): ResourceSet {
  if (second.resources.length === 0) return first;
  if (first.resources.length === 0) return second;
  const resources = lazy(() => [...first.resources, ...second.resources]);
  return {
    get resources() {
      return resources();
    },
    get parts() {
      return [...first.parts, ...second.parts];
    },
    get version() {
      return `${first.version}.${second.version}`;
    },
    get sotwBody() {
      return [...first.sotwBody, ...second.sotwBody];
    },
    get: (name) => first.get(name) ?? second.get(name),
  };
}

function encodeBody(resources: readonly EncodedResource[]): Buffer {
  const out = new MessageBuffer(resources.reduce((sum, { any }) => sum + any.length + 8, 0));
  for (const { any } of resources) {
    out.tag(RESOURCES, WIRE_BYTES);
    out.bytes(any);
  }
  return out.finish();
}

function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
