import { type LookupAddress, lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isIP } from "../../net/ip.ts";
import { WasmError } from "../wasm-error.ts";
import type { AddressRule } from "./address-rules.ts";

/** All addresses of a name, as the system resolves it. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * Name resolution for a connection that is about to be made: the very addresses that were judged are then dialled, so a name that
 * changes between the two has nothing to gain. Literal addresses do not pass here; see `refuseLiteral`.
 */
export function guardedLookup(isForbidden: AddressRule, resolve: Resolve = systemResolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const ofFamily = found.filter(({ family }) => !options.family || family === options.family);
        const allowed = ofFamily.filter(({ address }) => !isForbidden(address));
        const [first] = allowed;
        if (first === undefined) callback(noAddress(hostname, ofFamily), "");
        else if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (failure: NodeJS.ErrnoException) => callback(failure, ""),
    );
  };
}

/** Node asks no resolver about a literal address, so it is judged before the connection. */
export function refuseLiteral(url: URL, isForbidden: AddressRule): void {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && isForbidden(host)) throw forbidden(host, host);
}

const systemResolve: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (failure, addresses) => (failure === null ? resolve(addresses) : reject(failure)));
  });

function noAddress(hostname: string, found: readonly LookupAddress[]): Error {
  const [blocked] = found;
  return blocked === undefined
    ? new WasmError("unreachable", `${hostname} has no address`)
    : forbidden(hostname, blocked.address);
}

function forbidden(hostname: string, address: string): WasmError {
  const shown = hostname === address ? address : `${hostname} (${address})`;
  return new WasmError("blocked", `connection to ${shown} is not allowed: no module is fetched from that network`);
}
