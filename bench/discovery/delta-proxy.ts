import type { GrpcChannel } from "../../src/grpc/index.ts";
import { defineMethod, rawCodec } from "../../src/grpc/index.ts";
import { deltaDiscoveryRequest } from "../../src/protocol/protobuf/discovery.ts";
import { ADS_TYPES, type AdsType, nameIn } from "../../test/support/discovery-ads-client.ts";
import { nodeOf, readResponse, routeNames } from "./wire.ts";

const STREAM = defineMethod<"bidi", Buffer, Buffer>({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
  kind: "bidi",
  request: rawCodec,
  response: rawCodec,
});

/** The same as the other protocol, with only what is new asked for and sent. */
export async function followDelta(
  channel: GrpcChannel,
  index: number,
  onAnswer: (type: AdsType, message: Buffer) => void,
): Promise<void> {
  const call = await channel.bidi(STREAM);
  const subscribed = new Set<string>();
  const seen = new Set<AdsType>();
  const ask = (type: AdsType, names: readonly string[], nonce: string, node?: ReturnType<typeof nodeOf>) => {
    const request = { typeUrl: ADS_TYPES[type], resourceNamesSubscribe: [...names], responseNonce: nonce };
    const bytes = deltaDiscoveryRequest.encode({ ...request, ...(node !== undefined && { node }) });
    void call.write(bytes).catch(() => undefined);
  };
  const follow = (type: AdsType, names: readonly string[]) => {
    const added = names.filter((name) => !subscribed.has(name));
    for (const name of added) subscribed.add(name);
    if (added.length > 0) ask(type, added, "");
  };
  ask("CDS", [], "", nodeOf(index));
  for await (const message of call.responses) {
    const { type, nonce, resources } = readResponse(message, "delta");
    ask(type, [], nonce);
    onAnswer(type, message);
    if (type === "CDS") {
      follow(
        "EDS",
        resources.map(nameIn).filter((name) => name.startsWith("outbound|")),
      );
      if (!seen.has(type)) ask("LDS", [], "");
    }
    seen.add(type);
    if (type === "LDS") follow("RDS", routeNames(resources));
  }
}
