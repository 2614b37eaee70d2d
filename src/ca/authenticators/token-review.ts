import { createHash } from "node:crypto";
import { errorMessage } from "../../base/coded-error.ts";
import { type Jwt, parseJwt } from "../../protocol/jwt.ts";
import { AuthenticationError, type Authenticator, bearerToken, type Caller } from "./authenticator.ts";

/** The status of a TokenReview, as far as it is read. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly error?: string;
  readonly user?: {
    readonly username?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

/** An API server that vouches for tokens of its service accounts. */
export interface TokenReviewer {
  review(token: string, audiences: readonly string[], signal: AbortSignal): Promise<TokenReviewStatus>;
}

export interface TokenReviewOptions {
  /** The cluster that a caller says it is in, by id or alias; empty for the control plane's own. Undefined when it is not known. */
  reviewerOf(clusterId: string): TokenReviewer | undefined;
  /** Ids of all known clusters, for the log. */
  clusters(): readonly string[];
  /** Of which a token must have one. */
  readonly audiences: readonly string[];
  readonly trustDomain: () => string;
  readonly now?: () => number;
}

const NAME = "KubeJWTAuthenticator";
const ACCOUNTS_GROUP = "system:serviceaccounts";
const POD_NAME = "authentication.kubernetes.io/pod-name";
const POD_UID = "authentication.kubernetes.io/pod-uid";
/** A client that connects asks for its certificate and for xDS within this time; a deleted pod is accepted no longer than it. */
const REMEMBERED_MS = 5000;
const MAX_REMEMBERED = 10_000;

/** Accepts tokens of service accounts that the API server of their cluster confirms. */
export function createTokenReviewAuthenticator(options: TokenReviewOptions): Authenticator {
  const { now = Date.now } = options;
  const cache = new Map<string, { readonly caller: Caller; readonly until: number }>();
  return {
    name: NAME,
    authenticate: async ({ metadata }, signal) => {
      const token = bearerToken(metadata);
      const named = metadata.getAll("clusterid");
      const clusterId = named.length === 1 ? String(named[0]) : "";
      const key = createHash("sha256").update(`${clusterId}\0${options.trustDomain()}\0${token}`).digest("base64");
      const known = cache.get(key);
      if (known !== undefined && known.until > now()) return known.caller;
      cache.delete(key);
      const reviewer = options.reviewerOf(clusterId);
      if (reviewer === undefined) {
        const text = `client claims to be in cluster "${clusterId}", but we only know about ${options.clusters().join(", ")}`;
        throw new AuthenticationError("refused", text);
      }
      const caller = { ...toCaller(await ask(reviewer, token, options.audiences, signal), options), clusterId };
      const until = Math.min(now() + REMEMBERED_MS, expiryMs(token));
      if (until > now()) remember(cache, key, { caller, until });
      return caller;
    },
  };
}

async function ask(
  reviewer: TokenReviewer,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
): Promise<TokenReviewStatus> {
  try {
    return await reviewer.review(token, audiences, signal);
  } catch (cause) {
    throw new AuthenticationError("unavailable", `the token cannot be reviewed: ${errorMessage(cause)}`, { cause });
  }
}

function toCaller(status: TokenReviewStatus, { trustDomain }: TokenReviewOptions): Caller {
  const refuse = (reason: string) => new AuthenticationError("refused", reason);
  if (status.error) throw refuse(`the service account authentication returns an error: ${status.error}`);
  if (status.authenticated !== true) throw refuse("the token is not authenticated");
  const { username = "", groups = [], extra = {} } = status.user ?? {};
  if (!groups.includes(ACCOUNTS_GROUP)) throw refuse("the token is not a service account");
  const [, , namespace, account, ...more] = username.split(":");
  if (namespace === undefined || account === undefined || more.length > 0)
    throw refuse("invalid username field in the token review result");
  const domain = trustDomain().replaceAll("@", ".");
  return {
    identities: [`spiffe://${domain}/ns/${namespace}/sa/${account}`],
    source: NAME,
    pod: { name: extra[POD_NAME]?.[0] ?? "", uid: extra[POD_UID]?.[0] ?? "" },
  };
}

/** In milliseconds since 1970; a token that is not a JWT is reviewed each time. */
function expiryMs(token: string): number {
  let jwt: Jwt;
  try {
    jwt = parseJwt(token);
  } catch {
    return 0;
  }
  const { exp } = jwt.claims;
  return typeof exp === "number" ? exp * 1000 : 0;
}

/** The oldest goes where there are too many. */
function remember<Value>(cache: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = cache.keys();
  if (cache.size >= MAX_REMEMBERED && oldest !== undefined) cache.delete(oldest);
  cache.set(key, value);
}
