import { isLoopback } from "../ip.ts";
import type { HttpRequest } from "./http-types.ts";

const LOCAL_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|\[::ffff:127(\.\d{1,3}){3}\])(:\d+)?$/i;

/**
 * Whether a program on this machine sends the request. Loopback alone does not show it: a page in a browser on this machine can be made
 * to ask for a name that resolves to loopback (DNS rebinding), so Host has to be a name of this machine; and a page of another server
 * that asks for such a name cannot hide its Origin.
 */
export function isLocalCaller({ peerAddress, headers }: Pick<HttpRequest, "peerAddress" | "headers">): boolean {
  const { host = "localhost", origin } = headers;
  const isOwnPage = origin === undefined || origin === `http://${host}`;
  return isLoopback(peerAddress) && isOwnPage && LOCAL_NAMES.test(host);
}
