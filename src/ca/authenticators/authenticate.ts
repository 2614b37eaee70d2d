import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Authenticator, AuthRequest, Caller } from "./authenticator.ts";

/** The first authenticator, in order, that yields an identity; undefined, with the reasons in the log, when none does. */
export async function authenticate(
  authenticators: readonly Authenticator[],
  request: AuthRequest,
  options: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Caller | undefined> {
  const reasons: string[] = [];
  for (const authenticator of authenticators) {
    try {
      const caller = await authenticator.authenticate(request, options.signal);
      if (caller.identities.length > 0) return caller;
      reasons.push(`${authenticator.name}: no identity`);
    } catch (failure) {
      reasons.push(`${authenticator.name}: ${errorMessage(failure)}`);
    }
  }
  options.log.error("failed to authenticate request", { peer: request.peer.address, reasons: reasons.join("; ") });
  return undefined;
}
