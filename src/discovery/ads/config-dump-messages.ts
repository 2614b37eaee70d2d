import { encodeAny } from "../../protobuf/envoy/index.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import type { DebugPage } from "./ads-context.ts";

/** Parts of a dump that hold something; of the others a control plane knows nothing. */
const FILLED = [
  "envoy.admin.v3.ClustersConfigDump",
  "envoy.admin.v3.EndpointsConfigDump",
  "envoy.admin.v3.ListenersConfigDump",
  "envoy.admin.v3.RoutesConfigDump",
] as const;

interface Dump {
  readonly "@type": string;
  readonly versionInfo?: string;
}

/** What a proxy gets, as the messages of Envoy's own dump; none for a proxy that is not connected. */
export function configDumpMessages(proxy: string, debugPage: DebugPage): readonly EncodedResource[] {
  const page = debugPage(`config_dump?proxyID=${encodeURIComponent(proxy)}`);
  if (page === undefined || page.status !== 200) return [];
  const { configs } = JSON.parse(page.body) as { readonly configs: readonly Dump[] };
  return configs.map((config) => ({ name: proxy, version: "", any: encodeDump(config) }));
}

function encodeDump(config: Dump): Buffer {
  const typeUrl = config["@type"];
  const name = FILLED.find((filled) => typeUrl === TYPE_PREFIX + filled);
  return name === undefined ? any.encode({ typeUrl, value: Buffer.alloc(0) }) : encodeAny(name, config);
}
