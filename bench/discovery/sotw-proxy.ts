import { isDeepStrictEqual } from "node:util";
import { ADS_TYPES, type AdsType } from "../../test/support/xds/following-client.ts";
import type { ProxyStream } from "./open-stream.ts";
import { encodeRequest, nodeOf, readResponse } from "./wire.ts";

export const SOTW_PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

interface Acknowledged {
  readonly nonce: string;
  readonly version: string;
}

/** Asks for clusters and listeners, follows the names in them and acknowledges, until the stream ends. */
export async function followSotw(
  stream: ProxyStream,
  index: number,
  onAnswer: (type: AdsType, message: Buffer) => void,
): Promise<void> {
  const names: Record<AdsType, readonly string[]> = { CDS: [], EDS: [], LDS: [], RDS: [] };
  const acknowledged: Partial<Record<AdsType, Acknowledged>> = {};
  const ask = (type: AdsType, node?: ReturnType<typeof nodeOf>) => {
    const { nonce = "", version = "" } = acknowledged[type] ?? {};
    const request = { versionInfo: version, node, typeUrl: ADS_TYPES[type], responseNonce: nonce };
    stream.write(encodeRequest(names[type], request));
  };
  const follow = (type: AdsType, wanted: readonly string[]) => {
    if (wanted === names[type] || isDeepStrictEqual(wanted, names[type])) return;
    names[type] = wanted;
    ask(type);
  };
  ask("CDS", nodeOf(index));
  await stream.read((message) => {
    const { type, nonce, version, names: next } = readResponse(message, "sotw");
    const isFirst = acknowledged[type] === undefined;
    acknowledged[type] = { nonce, version };
    ask(type);
    onAnswer(type, message);
    if (type === "CDS") {
      follow("EDS", next);
      // As Envoy: listeners once the clusters are known.
      if (isFirst) ask("LDS");
    }
    if (type === "LDS") follow("RDS", next);
  });
}
