import type { HostPort } from "../../../src/net/host-port.ts";
import { decodeMessage, type MessageName } from "../../../src/protobuf/envoy/index.ts";
import type { DiscoveryResponse } from "../../../src/protobuf/wire/discovery.ts";
import { encodeStruct } from "../../../src/protobuf/wire/struct.ts";
import { until } from "../../support/wait/until.ts";
import { openSotw, URLS } from "../../support/xds/ads-client.ts";
import type { AdsNode } from "../../support/xds/following-client.ts";
import { type Answers, edsNames, nameTableOf, routeNames } from "../discovery/generate-answers.ts";
import type { Json } from "../discovery/json.ts";

/** Everything that a control plane sends a proxy: plaintext ADS, state of the world, one type after the other as Envoy asks. */
export async function askControlPlane({ host, port }: HostPort, node: AdsNode): Promise<Answers> {
  let end = "";
  await using stream = openSotw({ host, port, library: "ours", windowBytes: WINDOW_BYTES });
  void stream.ended.then(({ code, message }) => {
    end = `${code} ${message}`;
  });
  const given = { id: node.id, metadata: encodeStruct(node.metadata) };
  const ask = async (type: keyof typeof URLS, names: readonly string[] = []): Promise<DiscoveryResponse> => {
    stream.send({ node: given, typeUrl: URLS[type], resourceNames: [...names] });
    let found: DiscoveryResponse | undefined;
    await until(`${host}:${port} answers ${node.id} about ${type}`, () => {
      if (end !== "") throw new Error(`${host}:${port} ended the stream of ${node.id}: ${end}`);
      found = stream.responses.find(({ typeUrl }) => typeUrl === URLS[type]);
      return found !== undefined;
    });
    if (found === undefined) throw new Error(`${host}:${port} did not answer about ${type}`);
    return found;
  };
  const named = async (type: keyof typeof MESSAGES, names: readonly string[]) =>
    names.length === 0 ? [] : decoded(type, await ask(type, names));
  const clusters = decoded("CDS", await ask("CDS"));
  const endpoints = await named("EDS", edsNames(clusters));
  const listeners = decoded("LDS", await ask("LDS"));
  const routes = await named("RDS", routeNames(listeners));
  const [table] = (await ask("NDS")).resources;
  const nameTable = table?.value && nameTableOf(table.value);
  return { clusters, endpoints, listeners, routes, nameTable, problems: [] };
}

const WINDOW_BYTES = 4 * 1024 * 1024;

const MESSAGES = {
  CDS: "envoy.config.cluster.v3.Cluster",
  EDS: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  LDS: "envoy.config.listener.v3.Listener",
  RDS: "envoy.config.route.v3.RouteConfiguration",
} satisfies Record<string, MessageName>;

function decoded(type: keyof typeof MESSAGES, { resources }: DiscoveryResponse): readonly Json[] {
  return resources.map(({ value }) => decodeMessage(MESSAGES[type], Buffer.from(value ?? [])) as Json);
}
