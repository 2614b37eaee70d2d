import type { Logger } from "../../base/logger.ts";
import { type Authenticator, authenticate } from "../../ca/index.ts";
import { Metadata } from "../../grpc/index.ts";
import { isLocal } from "../ads-server/admission.ts";
import { parseSpiffe } from "../model/workload-identity.ts";
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
 * here, so the name asked for has to be this machine's own.
 */
export async function identifyCaller(call: HttpCall, options: AccessOptions): Promise<Caller | undefined> {
  const isLocalPeer = isLocal(call.peerAddress.includes(":") ? `[${call.peerAddress}]:0` : `${call.peerAddress}:0`);
  if (isLocalPeer && LOCAL_NAMES.test(call.headers.host ?? "localhost")) return { kind: "local" };
  const { authorization } = call.headers;
  if (authorization === undefined) return undefined;
  const request = { peer: { address: call.peerAddress, tls: undefined }, metadata: Metadata.from({ authorization }) };
  const signal = AbortSignal.timeout(10_000);
  const caller = await authenticate(options.authenticators(), request, { signal, log: options.log });
  return caller === undefined ? undefined : { kind: "identified", identities: caller.identities };
}

export function isOfNamespace(caller: Caller, namespace: string): boolean {
  if (caller.kind === "local") return true;
  return caller.identities.some((identity) => parseSpiffe(identity)?.namespace === namespace);
}
