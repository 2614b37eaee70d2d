import { perValue } from "../mesh-model/derive/derived-store.ts";
import { encodeAny, encodeMessage } from "../protobuf/envoy/index.ts";
import type { RouteConfiguration, VirtualHost } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { MessageTypes } from "../protobuf/gen/envoy-types.ts";
import { MessageBuffer } from "../protobuf/wire/message-buffer.ts";
import { WIRE_BYTES } from "../protobuf/wire/wire-reader.ts";
import { contentVersion } from "../xds/resource-set.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
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

/** Virtual hosts that stayed the same values are not encoded again: a route configuration may hold thousands of them. */
export function createRouteEncoder(): (route: RouteConfiguration) => EncodedResource {
  const encodeHost = perValue((host: VirtualHost) => encodeMessage("envoy.config.route.v3.VirtualHost", host));
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
