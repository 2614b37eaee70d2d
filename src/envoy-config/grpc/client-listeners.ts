import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { defaultAddress, type Service } from "../../mesh-model/service.ts";
import { type AnyMessage, pack } from "../../protobuf/envoy/index.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { clusterName } from "../cluster-name.ts";
import { httpPorts } from "../routes/rule-index.ts";
import { fullHost, parseTarget } from "./host-spelling.ts";

/** What a client needs to call the target it asks for, under the name it asks by; one per port when it names none. */
export function clientListeners(scope: OutboundScope, name: string): readonly Listener[] {
  const { spelling, port } = parseTarget(name);
  const host = fullHost(spelling, scope.traits.dnsDomain);
  return scope.services
    .filter(({ hostname }) => hostname === host)
    .flatMap((service) =>
      httpPorts(service)
        .filter((number) => port === undefined || number === port)
        .map((number) => apiListener(spelling, service, number)),
    );
}

export function everyClientListener({ services }: OutboundScope): readonly Listener[] {
  return services.flatMap((service) => httpPorts(service).map((port) => apiListener(service.hostname, service, port)));
}

function apiListener(spelling: string, service: Service, port: number): Listener {
  return {
    name: `${spelling}:${port}`,
    address: { socketAddress: { address: defaultAddress(service), portValue: port } },
    apiListener: {
      apiListener: pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
        rds: { configSource: { ads: {} }, routeConfigName: clusterName("outbound", port, "", service.hostname) },
        httpFilters: [filter("envoy.filters.http.fault", FAULT), filter("envoy.filters.http.router", ROUTER)],
      }),
    },
  };
}

const FAULT = pack("envoy.extensions.filters.http.fault.v3.HTTPFault", {});
export const ROUTER: AnyMessage = pack("envoy.extensions.filters.http.router.v3.Router", {});

export function filter(
  name: string,
  typedConfig: AnyMessage,
): { readonly name: string; readonly typedConfig: AnyMessage } {
  return { name, typedConfig };
}
