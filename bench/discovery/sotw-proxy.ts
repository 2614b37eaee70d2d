import type { GrpcChannel } from "../../src/grpc/index.ts";
import { defineMethod, rawCodec } from "../../src/grpc/index.ts";
import { discoveryRequest } from "../../src/protocol/protobuf/discovery.ts";
import { ADS_TYPES, type AdsType, nameIn } from "../../test/support/discovery-ads-client.ts";
import { nodeOf, readResponse, routeNames } from "./wire.ts";

const STREAM = defineMethod<"bidi", Buffer, Buffer>({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
  kind: "bidi",
  request: rawCodec,
  response: rawCodec,
});

interface Acknowledged {
  readonly nonce: string;
  readonly version: string;
}

/** Asks for clusters and listeners, follows the names in them and acknowledges, until the stream ends. */
export async function followSotw(
  channel: GrpcChannel,
  index: number,
  onAnswer: (type: AdsType, message: Buffer) => void,
): Promise<void> {
  const call = await channel.bidi(STREAM);
  const names: Record<AdsType, readonly string[]> = { CDS: [], EDS: [], LDS: [], RDS: [] };
  const acknowledged: Partial<Record<AdsType, Acknowledged>> = {};
  const ask = (type: AdsType, node?: ReturnType<typeof nodeOf>) => {
    const { nonce = "", version = "" } = acknowledged[type] ?? {};
    const request = {
      typeUrl: ADS_TYPES[type],
      resourceNames: [...names[type]],
      responseNonce: nonce,
      versionInfo: version,
    };
    void call
      .write(discoveryRequest.encode({ ...request, ...(node !== undefined && { node }) }))
      .catch(() => undefined);
  };
  const follow = (type: AdsType, wanted: readonly string[]) => {
    const isSame = wanted.length === names[type].length && wanted.every((name, place) => names[type][place] === name);
    if (isSame) return;
    names[type] = wanted;
    ask(type);
  };
  ask("CDS", nodeOf(index));
  for await (const message of call.responses) {
    const { type, nonce, version, resources } = readResponse(message, "sotw");
    const isFirst = acknowledged[type] === undefined;
    acknowledged[type] = { nonce, version };
    ask(type);
    onAnswer(type, message);
    if (type === "CDS") {
      follow(
        "EDS",
        resources.map(nameIn).filter((name) => name.startsWith("outbound|")),
      );
      // As Envoy: listeners once the clusters are known.
      if (isFirst) ask("LDS");
    }
    if (type === "LDS") follow("RDS", routeNames(resources));
  }
}
