import { isLoopback } from "../ip.ts";
import { errorText, type HttpAnswer, type HttpRequest } from "./http-types.ts";

const LOCAL_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|\[::ffff:127(\.\d{1,3}){3}\])(:\d+)?$/i;
/** What a browser says of a request of the server's own pages, and of an address that its user has entered. */
const OWN_SITES: readonly (string | undefined)[] = [undefined, "same-origin", "none"];

/**
 * Why a page in a browser on this machine may have sent the request; undefined: it was a program, or a page of this server. A page can
 * be made to ask for a name that resolves to loopback (DNS rebinding), so Host has to be a name of this machine; and a page of another
 * server that asks for such a name cannot hide its Origin, or for images and links its Sec-Fetch-Site.
 */
export function foreignPageProblem(
  { headers }: Pick<HttpRequest, "headers">,
  { isHost = isLocalName, hosts = "localhost, 127.0.0.0/8 and [::1], each with or without a port" }: OwnHosts = {},
): string | undefined {
  const { host = "localhost", origin, "sec-fetch-site": site } = headers;
  if (!isHost(host)) return `Host is ${JSON.stringify(host)}; allowed are ${hosts}`;
  if (origin !== undefined && origin !== `http://${host}`)
    return `Origin is ${JSON.stringify(origin)}; pages of other servers are refused`;
  if (!OWN_SITES.includes(site))
    return `Sec-Fetch-Site is ${JSON.stringify(site)}; pages of other servers are refused, allowed are same-origin and none`;
  return undefined;
}

/** Names of a server that is meant to be reached from other machines, too. */
export interface OwnHosts {
  readonly isHost?: (host: string) => boolean;
  /** For the reason. */
  readonly hosts?: string;
}

export function isLocalName(host: string): boolean {
  return LOCAL_NAMES.test(host);
}

/** For servers, or single routes, that only programs on this machine can reach: of those, browsers are refused with a reason. */
export function refuseForeignPages(request: Pick<HttpRequest, "headers">): HttpAnswer | undefined {
  const problem = foreignPageProblem(request);
  return problem === undefined ? undefined : errorText(403, problem);
}

/** Whether a program on this machine sends the request. Loopback alone does not show it: a browser runs what others wrote. */
export function isLocalCaller(request: Pick<HttpRequest, "peerAddress" | "headers">): boolean {
  return isLoopback(request.peerAddress) && foreignPageProblem(request) === undefined;
}
