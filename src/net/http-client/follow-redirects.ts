import { HttpError } from "./http-error.ts";

/** A response that names another address. */
export interface Redirect {
  /** What was asked. */
  readonly from: URL;
  readonly status: number;
  /** As the server wrote it. */
  readonly location: string;
  /** Undefined when the location is not a URL. */
  readonly to: URL | undefined;
  /** Redirects that were followed before this one. */
  readonly followed: number;
}

export interface RedirectRules {
  /** Requests in all; the redirect of the last one rejects. */
  readonly maxRequests: number;
  /** Asked about each redirect: false makes it the response, a throw fails the request. All that lead to http or https when absent. */
  allows?(redirect: Redirect): boolean;
  /** Headers that another origin does not get, in lower case; those that carry credentials when absent. */
  readonly dropsAcrossOrigins?: readonly string[];
}

/** What a redirect is recognized by, of whichever protocol the response is. */
export interface Redirectable {
  readonly status: number;
  readonly location: string | undefined;
  /** Closes the connection without reading the body. */
  discard(): void;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Sends until a response is not a redirect to follow. `send` gets the address and the redirect that leads there. */
export async function followRedirects<Response extends Redirectable>(
  first: URL,
  rules: RedirectRules,
  send: (url: URL, by: Redirect | undefined) => Promise<Response>,
): Promise<Response> {
  let url = first;
  let by: Redirect | undefined;
  for (let followed = 0; ; followed += 1) {
    const response = await send(url, by);
    const { status, location } = response;
    if (!REDIRECTS.has(status) || location === undefined || location === "") return response;
    const to = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    by = { from: url, status, location, to, followed };
    try {
      if (rules.allows?.(by) === false) return response;
      url = nextUrl(by, rules);
    } catch (refusal) {
      response.discard();
      throw refusal;
    }
    response.discard();
  }
}

function nextUrl({ from, location, to, followed }: Redirect, { maxRequests }: RedirectRules): URL {
  const refused = (reason: string) => new HttpError("redirect", { method: "GET", url: from, reason, phase: "head" });
  if (followed === maxRequests - 1) throw refused(`stopped after ${maxRequests} redirects`);
  if (to === undefined) throw refused(`failed to parse Location header ${JSON.stringify(location)}`);
  if (to.protocol === "http:" || to.protocol === "https:") return to;
  throw refused(`unsupported protocol scheme ${JSON.stringify(to.protocol.slice(0, -1))}`);
}

export interface RedirectedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

/** The request to send after a redirect: 307 and 308 repeat it, the older codes ask for the page that is there. */
export function redirectedRequest<Request extends RedirectedRequest>(
  request: Request,
  { from, to, status }: Redirect,
  drops: readonly string[] = ["authorization", "cookie", "proxy-authorization"],
): Request {
  const isSame = to?.origin === from.origin;
  const isGet = status < 307 && request.method !== "HEAD";
  const headers = Object.entries(request.headers).filter(
    ([name]) =>
      (isSame || !drops.includes(name.toLowerCase())) && !(isGet && name.toLowerCase().startsWith("content-")),
  );
  return {
    ...request,
    headers: Object.fromEntries(headers),
    ...(isGet && { method: "GET", body: undefined }),
  };
}
