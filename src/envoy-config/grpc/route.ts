import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { parseClusterName } from "../cluster-name.ts";
import { httpPorts, listenerIndex } from "../routes/rule-index.ts";
import { serviceHost } from "../routes/virtual-host.ts";

/** Routes to one port of one host, by the name that the client's listener carries; none for a host that is not there. */
export function generateGrpcRoute(scope: OutboundScope, name: string): RouteConfiguration {
  const { port, host, subset } = parseClusterName(name) ?? {};
  const service = scope.services.find((own) => own.hostname === host && httpPorts(own).includes(port ?? 0));
  if (service === undefined || port === undefined || subset !== "") return { name };
  const shown = scope.egress.map(listenerIndex).find((index) => index.servicesOn(port).some(isHost(service.hostname)));
  const rules = shown?.rulesFor(service.hostname) ?? [];
  return { name, virtualHosts: [serviceHost(service, rules, { scope, port, form: "both" })] };
}

function isHost(host: string) {
  return ({ hostname }: { readonly hostname: string }) => hostname === host;
}
