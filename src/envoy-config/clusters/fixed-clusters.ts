import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { BindConfig, Http1ProtocolOptions } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { BLACK_HOLE_CLUSTER, INBOUND_PASSTHROUGH_CLUSTER, PASSTHROUGH_CLUSTER } from "../cluster-name.ts";
import { circuitBreakers } from "./circuit-breakers.ts";
import { PRESERVED_CASE } from "./http-options.ts";
import { upstreamConnection } from "./upstream-connection.ts";

/** Traffic that no rule knows: let through to where it was going, in both directions, or ended. */
export function fixedClusters(mesh: MeshSettings, bind: BindConfig, preservesHeaderCase: boolean): readonly Cluster[] {
  const { connectionPool } = mesh.defaultTrafficPolicy;
  const connection = upstreamConnection(mesh, connectionPool);
  const passthrough: Cluster = {
    type: "ORIGINAL_DST",
    ...connection,
    lbPolicy: "CLUSTER_PROVIDED",
    circuitBreakers: circuitBreakers(connectionPool),
    typedExtensionProtocolOptions: preservesHeaderCase ? FOLLOW_CLIENT_EXACTLY : FOLLOW_CLIENT,
  };
  return [
    blackHoleCluster(mesh),
    { ...passthrough, name: PASSTHROUGH_CLUSTER },
    { ...passthrough, name: INBOUND_PASSTHROUGH_CLUSTER, upstreamBindConfig: bind },
  ];
}

/** Ends whatever is sent there. */
export function blackHoleCluster(mesh: MeshSettings): Cluster {
  return {
    name: BLACK_HOLE_CLUSTER,
    type: "STATIC",
    connectTimeout: upstreamConnection(mesh, undefined).connectTimeout,
  };
}

const HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** Whatever the client speaks; connections to places unknown are not kept for ever. */
const FOLLOW_CLIENT = followClient({});
const FOLLOW_CLIENT_EXACTLY = followClient(PRESERVED_CASE);

function followClient(httpProtocolOptions: Http1ProtocolOptions): Cluster["typedExtensionProtocolOptions"] {
  const options = {
    commonHttpProtocolOptions: { idleTimeout: "300s" },
    useDownstreamProtocolConfig: { httpProtocolOptions, http2ProtocolOptions: {} },
  };
  return { [HTTP_OPTIONS]: pack(HTTP_OPTIONS, options) };
}
