import type { HttpDirectResponse, HttpRedirect } from "../../istio-api/specs.ts";
import type {
  DirectResponseAction,
  RedirectAction,
  RedirectAction_RedirectResponseCode,
} from "../../protobuf/gen/envoy/config/route/v3.ts";
import { isHeaderSafe } from "./envoy-values.ts";

/** Where a request came in. */
export interface RequestPort {
  readonly port: number;
  /** The client spoke TLS, so that a redirect that names no scheme is to https. */
  readonly isTls?: boolean;
}

/** Undefined for a code that Envoy cannot send; such a route is left out. */
export function buildRedirect(redirect: HttpRedirect, request: RequestPort): RedirectAction | undefined {
  const responseCode = RESPONSE_CODES.get(redirect.redirectCode);
  if (responseCode === undefined || !isHeaderSafe(redirect.uri, redirect.prefixRewrite, redirect.authority))
    return undefined;
  const portRedirect = redirectPort(redirect, request);
  return {
    ...(redirect.authority !== "" && { hostRedirect: redirect.authority }),
    ...(redirect.prefixRewrite === "" ? { pathRedirect: redirect.uri } : { prefixRewrite: redirect.prefixRewrite }),
    ...(redirect.scheme !== "" && { schemeRedirect: redirect.scheme }),
    ...(portRedirect !== 0 && { portRedirect }),
    ...(responseCode !== "MOVED_PERMANENTLY" && { responseCode }),
  };
}

/** 0: none is named, so that the scheme's own port counts. */
function redirectPort({ port, derivePort, scheme }: HttpRedirect, request: RequestPort): number {
  const wanted = port ?? (derivePort === "FROM_REQUEST_PORT" ? request.port : 0);
  const isHttps = scheme === "" ? request.isTls === true : scheme === "https";
  return wanted === (isHttps ? 443 : 80) ? 0 : wanted;
}

const RESPONSE_CODES: ReadonlyMap<number, RedirectAction_RedirectResponseCode> = new Map([
  [0, "MOVED_PERMANENTLY"],
  [301, "MOVED_PERMANENTLY"],
  [302, "FOUND"],
  [303, "SEE_OTHER"],
  [307, "TEMPORARY_REDIRECT"],
  [308, "PERMANENT_REDIRECT"],
]);

export function buildDirectResponse({ status, body }: HttpDirectResponse): DirectResponseAction {
  if (body?.bytes !== undefined) return { status, body: { inlineBytes: body.bytes } };
  return body?.string !== undefined ? { status, body: { inlineString: body.string } } : { status };
}
