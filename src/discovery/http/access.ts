import type { Logger } from "../../base/logger.ts";
import { type Authenticator, authenticate } from "../../ca/index.ts";
import { Metadata } from "../../grpc/index.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import { HttpError, type HttpRequest } from "../../net/http-server/http-types.ts";
import { foreignPageProblem, isLocalCaller } from "../../net/http-server/local-caller.ts";
import { isLoopback } from "../../net/ip.ts";

/** Who asks: a program on this machine, or the workload that a token identifies. */
export type Caller =
  | { readonly kind: "local" }
  | { readonly kind: "identified"; readonly identities: readonly string[] };

export interface AccessOptions {
  readonly authenticators: () => readonly Authenticator[];
  readonly log: Logger;
}

/** Rejects with an HttpError that says what a stranger lacks. A token is never sent by a browser of itself: it makes up for the rest. */
export async function requireCaller(
  call: Pick<HttpRequest, "peerAddress" | "headers">,
  options: AccessOptions,
): Promise<Caller> {
  const caller = await identifyCaller(call, options);
  if (caller !== undefined) return caller;
  const hasToken = call.headers.authorization !== undefined;
  const problem = isLoopback(call.peerAddress) && !hasToken ? foreignPageProblem(call) : undefined;
  if (problem !== undefined) throw new HttpError(403, problem);
  throw new HttpError(401, "Authentication failed: a caller of another machine needs a token");
}

/** Undefined for strangers. */
export async function identifyCaller(
  call: Pick<HttpRequest, "peerAddress" | "headers">,
  options: AccessOptions,
): Promise<Caller | undefined> {
  if (isLocalCaller(call)) return { kind: "local" };
  const { authorization } = call.headers;
  if (authorization === undefined) return undefined;
  const request = { peer: { address: call.peerAddress ?? "", tls: undefined }, metadata: sentMetadata(authorization) };
  const signal = AbortSignal.timeout(10_000);
  const caller = await authenticate(options.authenticators(), request, { signal, log: options.log });
  return caller === undefined ? undefined : { kind: "identified", identities: caller.identities };
}

/** As it was sent: odd text is a token that does not verify, not an error. */
function sentMetadata(authorization: string): Metadata {
  return Metadata.fromRawHeaders(["authorization", authorization]);
}

export function isOfNamespace(caller: Caller, namespace: string): boolean {
  if (caller.kind === "local") return true;
  return caller.identities.some((identity) => parseSpiffe(identity)?.namespace === namespace);
}
