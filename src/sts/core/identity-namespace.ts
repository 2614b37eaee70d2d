import { jwtAudiences, parseJwt } from "../../protocol/jwt.ts";

/** The workload pool that a subject token is made for: its one audience; the trust domain when it has none or several. */
export function identityNamespace(subjectToken: string, trustDomain: string): string {
  try {
    const audiences = jwtAudiences(parseJwt(subjectToken).claims);
    const [only] = audiences;
    return audiences.length === 1 && only !== undefined && only !== "" ? only : trustDomain;
  } catch {
    // Google decides whether it is a token at all.
    return trustDomain;
  }
}
