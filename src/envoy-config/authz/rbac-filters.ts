import { pack } from "../../protobuf/envoy/index.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { RbacSettings } from "./build-rbac.ts";

export function httpRbac(settings: RbacSettings): HttpFilter {
  return {
    name: "envoy.filters.http.rbac",
    typedConfig: pack("envoy.extensions.filters.http.rbac.v3.RBAC", settings),
  };
}

export function networkRbac(settings: RbacSettings): Filter {
  return {
    name: "envoy.filters.network.rbac",
    typedConfig: pack("envoy.extensions.filters.network.rbac.v3.RBAC", { ...settings, statPrefix: "tcp." }),
  };
}
