import type { Logger } from "../../base/logger.ts";
import { type Authenticator, authenticate } from "../../ca/index.ts";
import { Metadata } from "../../grpc/index.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import { isLocal } from "../ads/admission.ts";
import type { HttpCall } from "./http-types.ts";

/** Who asks: somebody on this machine, or whoever the token proves. */
export type Caller =
  | { readonly kind: "local" }
  | { readonly kind: "identified"; readonly identities: readonly string[] };

export interface AccessOptions {
  readonly authenticators: () => readonly Authenticator[];
  readonly log: Logger;
}

const LOCAL_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|\[::ffff:127(\.\d{1,3}){3}\])(:\d+)?$/i;

/**
 * Undefined for strangers. Loopback alone is not enough: a page in a browser on this machine can be made to ask for a name that leads
 * here, so the name asked for has to be this machine's own; and it may ask for this machine by name, but not hide that it is a page of
 * another place.
 */
export async function identifyCaller(call: HttpCall, options: AccessOptions): Promise<Caller | undefined> {
  const isLocalPeer = isLocal(call.peerAddress.includes(":") ? `[${call.peerAddress}]:0` : `${call.peerAddress}:0`);
  const { authorization, host = "localhost", origin } = call.headers;
  const isOwnPage = origin === undefined || origin === `http://${host}`;
  if (isLocalPeer && isOwnPage && LOCAL_NAMES.test(host)) return { kind: "local" };
  if (authorization === undefined) return undefined;
  const request = { peer: { address: call.peerAddress, tls: undefined }, metadata: sentMetadata(authorization) };
  const signal = AbortSignal.timeout(10_000);
  const caller = await authenticate(options.authenticators(), request, { signal, log: options.log });
  return caller === undefined ? undefined : { kind: "identified", identities: caller.identities };
}

/** As it was sent: no text is so odd that it is more than a token that proves nothing. */
function sentMetadata(authorization: string): Metadata {
  return Metadata.fromRawHeaders(["authorization", authorization]);
}

export function isOfNamespace(caller: Caller, namespace: string): boolean {
  if (caller.kind === "local") return true;
  return caller.identities.some((identity) => parseSpiffe(identity)?.namespace === namespace);
}
