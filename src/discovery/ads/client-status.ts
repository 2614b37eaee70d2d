import { encodeAny } from "../../protobuf/envoy/index.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import { syncState } from "../../xds/subscription.ts";
import { XDS_TYPES } from "../../xds/xds-types.ts";
import type { Connection } from "./connection.ts";

/** How far one proxy is, in the form that tools for many control planes read. */
export function clientStatus(connection: Connection): EncodedResource {
  const { id, node, subscriptions } = connection;
  const genericXdsConfigs = XDS_TYPES.flatMap(({ type, url }) => {
    const subscription = subscriptions.get(type);
    if (subscription === undefined) return [];
    const { error, versionSent, sentAt } = subscription;
    return [
      {
        typeUrl: url,
        ...(versionSent === "" ? {} : { versionInfo: versionSent }),
        ...(sentAt === 0 ? {} : { lastUpdated: new Date(sentAt).toISOString() }),
        configStatus: syncState(subscription),
        ...(error === undefined ? {} : { errorState: { details: error.message } }),
      },
    ];
  });
  const { clusterId, istioVersion } = node;
  const metadata = { CLUSTER_ID: clusterId, ISTIO_VERSION: istioVersion, NAMESPACE: node.namespace };
  const value = { node: { id: node.id, metadata }, genericXdsConfigs };
  return { name: id, version: "", any: encodeAny("envoy.service.status.v3.ClientConfig", value) };
}
