import type { OutboundScope } from "../../snapshot/push-snapshot.ts";
import { findProviderServer } from "../provider-server.ts";
import type { FindServer } from "./provider-log.ts";

/** A proxy refuses a listener that names a log server whose cluster it does not have, so that only what the scope shows will do. */
export function findLogServer(scope: Pick<OutboundScope, "service">): FindServer {
  return (service, port) => findProviderServer(scope, service, port);
}
