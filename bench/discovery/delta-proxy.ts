import { deltaDiscoveryRequest } from "../../src/protobuf/wire/discovery.ts";
import { ADS_TYPES, type AdsType } from "../../test/support/xds/following-client.ts";
import type { ProxyStream } from "./open-stream.ts";
import { nodeOf, readResponse } from "./wire.ts";

export const DELTA_PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/** The same as the other protocol, with only what is new asked for and sent. */
export async function followDelta(
  stream: ProxyStream,
  index: number,
  onAnswer: (type: AdsType, message: Buffer) => void,
): Promise<void> {
  const subscribed = new Set<string>();
  const seen = new Set<AdsType>();
  const ask = (type: AdsType, names: readonly string[], nonce: string, node?: ReturnType<typeof nodeOf>) => {
    const request = { typeUrl: ADS_TYPES[type], resourceNamesSubscribe: [...names], responseNonce: nonce };
    stream.write(deltaDiscoveryRequest.encode({ ...request, ...(node !== undefined && { node }) }));
  };
  const follow = (type: AdsType, names: readonly string[]) => {
    const added = names.filter((name) => !subscribed.has(name));
    for (const name of added) subscribed.add(name);
    if (added.length > 0) ask(type, added, "");
  };
  ask("CDS", [], "", nodeOf(index));
  await stream.read((message) => {
    const { type, nonce, names } = readResponse(message, "delta");
    ask(type, [], nonce);
    onAnswer(type, message);
    if (type === "CDS") {
      follow("EDS", names);
      if (!seen.has(type)) ask("LDS", [], "");
    }
    seen.add(type);
    if (type === "LDS") follow("RDS", names);
  });
}
