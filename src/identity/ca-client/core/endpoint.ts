import { joinHostPort } from "../../../net/host-port.ts";

/** How to reach a CA: where to dial, whether in plaintext, and which name its certificate must carry. */
export interface CaEndpoint {
  /** "host:port" as the gRPC layer takes it. */
  readonly target: string;
  readonly plaintext: boolean;
  readonly serverName: string;
  /** `:authority` of the calls. */
  readonly authority: string;
}

/** The debug port of istiod, which speaks without TLS. */
const PLAINTEXT_SUFFIX = ":15010";
const DEFAULT_PORT = 443;
/** What a port-forwarded or local istiod has in its certificate. */
const ISTIOD_NAME = "istiod.istio-system.svc";

export function caEndpoint(address: string, nameOverride: string | undefined): CaEndpoint {
  const plaintext = address.endsWith(PLAINTEXT_SUFFIX);
  const hasPort = /^(\[[^\]]+\]|[^:]+):\d+$/.test(address);
  const host = hasPort ? address.slice(0, address.lastIndexOf(":")) : address;
  const bare = host.replace(/^\[|\]$/g, "");
  const implied = bare.includes("localhost") ? ISTIOD_NAME : bare;
  const serverName = nameOverride === undefined || nameOverride === "" ? implied : nameOverride;
  return {
    target: hasPort ? address : joinHostPort(bare, DEFAULT_PORT),
    plaintext,
    serverName,
    authority: plaintext ? address : serverName,
  };
}
