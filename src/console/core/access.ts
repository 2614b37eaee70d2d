import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpAnswer, HttpRequest } from "../../net/http-server/http-types.ts";
import { foreignPageProblem, isLocalName } from "../../net/http-server/local-caller.ts";

export interface AccessOptions {
  readonly token: string;
  /** Of the cookie's name: consoles on other ports of this machine get the same cookies. */
  readonly port: number;
  /** A name or address besides those of this machine that the console is reached by. */
  readonly host?: string;
}

export interface Access {
  /** Undefined when the request comes from this console's page, from a link to it, or from a program. */
  refusal(request: Pick<HttpRequest, "headers" | "method" | "path">): string | undefined;
  hasSession(request: Pick<HttpRequest, "headers">): boolean;
  /** Of a link: whether it is right. */
  isToken(given: string): boolean;
  /** For the browser, on the way to the page without the token in its address. */
  readonly enter: HttpAnswer;
}

const IP_LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i;

/**
 * Who may ask. A page that resolves its own name to this machine (DNS rebinding) is known by Host, a page of another server by Origin and
 * Sec-Fetch-Site, and neither has the cookie, which browsers send from this console's own page only (SameSite=Strict).
 */
export function createAccess({ token, port, host }: AccessOptions): Access {
  const cookie = `pilot-agent-console-${port}`;
  const session = digest(`session ${token}`).toString("base64url");
  const isHost = (given: string) =>
    isLocalName(given) || (host !== undefined && (IP_LITERAL.test(given) || given.replace(/:\d+$/, "") === host));
  return {
    refusal(request) {
      return foreignPageProblem(
        { headers: isLink(request) ? withoutSite(request.headers) : request.headers },
        { isHost, ...hostsText(host) },
      );
    },
    hasSession: ({ headers }) =>
      (headers.cookie ?? "").split(";").some((each) => isSame(each.trim(), `${cookie}=${session}`)),
    isToken: (given) => isSame(given, token),
    enter: {
      status: 303,
      headers: {
        Location: "/",
        "Set-Cookie": `${cookie}=${session}; Path=/; HttpOnly; SameSite=Strict`,
        "Cache-Control": "no-store",
      },
      body: "",
    },
  };
}

/** The page itself may be linked from anywhere, it holds nothing; only what somebody clicked on, not what a page loads. */
function isLink({ headers, method, path }: Pick<HttpRequest, "headers" | "method" | "path">): boolean {
  return (
    method === "GET" &&
    path === "/" &&
    headers.origin === undefined &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document"
  );
}

function withoutSite({ "sec-fetch-site": _, ...headers }: HttpRequest["headers"]): HttpRequest["headers"] {
  return headers;
}

/** An address as Host cannot have been rebound; a name can, unless it is the one that was given. */
function hostsText(host: string | undefined): { readonly hosts?: string } {
  return host === undefined ? {} : { hosts: `localhost, addresses and ${host}` };
}

function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
