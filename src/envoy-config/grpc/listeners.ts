import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { clientListeners, everyClientListener } from "./client-listeners.ts";
import { isServerListener, serverListener } from "./server-listener.ts";

/** The listeners asked for; no names at all mean everything that the client could call. Names that mean nothing get no answer. */
export function generateGrpcListeners(view: ProxyView, names: readonly string[]): readonly Listener[] {
  if (names.length === 0) return everyClientListener(view.outbound);
  const listeners = names.flatMap((name) =>
    isServerListener(name) ? (serverListener(view, name) ?? []) : clientListeners(view.outbound, name),
  );
  return [...new Map(listeners.map((listener) => [listener.name, listener])).values()];
}
