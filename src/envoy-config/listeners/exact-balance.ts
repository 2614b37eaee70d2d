import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";

/** Few long connections are spread over the workers exactly, at the price of a lock for each new one. */
export function exactBalance(isWanted: boolean): Pick<Listener, "connectionBalanceConfig"> {
  return isWanted ? { connectionBalanceConfig: { exactBalance: {} } } : {};
}
