import { jwtExpiry, parseJwt } from "../../../protocol/jwt.ts";

/** Tokens of the metadata server live an hour: this leaves several tries before the end. */
const BEFORE_EXPIRY_SECONDS = 25 * 60;

/** True for no token, one whose expiry cannot be read, and one that ends soon. */
export function needsRefresh(token: string | undefined, nowSeconds: number): boolean {
  if (token === undefined) return true;
  try {
    const expiry = jwtExpiry(parseJwt(token).claims);
    return expiry === undefined || nowSeconds > expiry - BEFORE_EXPIRY_SECONDS;
  } catch {
    return true;
  }
}
