import { isIP } from "../../net/ip.ts";
import { isInternalAddress } from "../fetch/address-rules.ts";
import { WasmError } from "../wasm-error.ts";

const INTERNAL_NAMES = ["localhost", "metadata.google.internal"];

/**
 * A registry names the address that gets its clients' credentials; it must not be able to name one inside the cluster or the machine.
 * Names that resolve to such addresses are the concern of the address rules at the time of the connection.
 */
export function checkRealm(realm: string): URL {
  const url = URL.canParse(realm) ? new URL(realm) : undefined;
  if (url === undefined) throw unsafe("it is no address");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw unsafe(`its scheme is ${url.protocol}`);
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (host === "") throw unsafe("it has no host");
  if (INTERNAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`))) throw unsafe(`its host is ${host}`);
  if (isIP(host) !== 0 && isInternalAddress(host)) throw unsafe(`its host is ${host}`);
  return url;
}

function unsafe(why: string): WasmError {
  return new WasmError("blocked", `rejected unsafe bearer realm: ${why}`);
}
