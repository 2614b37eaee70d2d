import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { Listener, ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";

/** Long enough for a lost first segment to be sent again. */
const DEFAULT_TIMEOUT_MS = 1_000;

/**
 * How long inspectors wait for the client's first bytes. Zero in the mesh's settings would mean for ever, and clients of protocols in
 * which the server speaks first would wait with them; after the time the connection is taken as plain TCP.
 */
export function detectionTimeout(
  { protocolDetectionTimeoutMs }: MeshSettings,
  listenerFilters: readonly ListenerFilter[],
): Pick<Listener, "listenerFiltersTimeout" | "listenerFilters" | "continueOnListenerFiltersTimeout"> {
  if (listenerFilters.length === 0) return { continueOnListenerFiltersTimeout: true };
  const timeoutMs = protocolDetectionTimeoutMs > 0 ? protocolDetectionTimeoutMs : DEFAULT_TIMEOUT_MS;
  return {
    listenerFilters,
    listenerFiltersTimeout: `${timeoutMs / 1000}s`,
    continueOnListenerFiltersTimeout: true,
  };
}
