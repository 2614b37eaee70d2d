import { isUnixAddress } from "../../../mesh-model/endpoint.ts";
import type { OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import type { Listener } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import { outboundLogs } from "../../telemetry/index.ts";
import { isWildcardBind, listenerName } from "../addresses.ts";
import type { ConflictKind, GeneratedListeners, ListenerConflict } from "../listener-conflict.ts";
import { isReservedPort } from "../reserved-ports.ts";
import { buildOutboundListener } from "./build-listener.ts";
import { collectEntries } from "./collect-entries.ts";
import type { OutboundEntry } from "./outbound-entry.ts";
import { buildHttpProxyListener, buildVirtualOutbound } from "./virtual-outbound.ts";

/** For calls to services, then for the HTTP proxy, then for everything that was redirected. */
export function generateOutboundListeners(scope: OutboundScope): GeneratedListeners {
  const accessLogs = outboundLogs(scope);
  const conflicts: ListenerConflict[] = [];
  const httpProxy = buildHttpProxyListener(scope, accessLogs);
  const taken = new Set([...ingressPlaces(scope), ...placesOf(httpProxy)]);
  const listeners: Listener[] = [];
  for (const entry of collectEntries(scope, accessLogs, (conflict) => conflicts.push(conflict))) {
    const { binds, port } = entry;
    const free = binds.filter((bind) => !taken.has(listenerName(bind, port)));
    const kind = unusable(scope, entry) ?? (free.length === 0 ? "address" : undefined);
    if (kind !== undefined) {
      const listener = listenerName(binds[0] ?? "", port);
      conflicts.push({ kind, listener, kept: "", dropped: ownerOf(entry) });
      continue;
    }
    for (const bind of free) taken.add(listenerName(bind, port));
    listeners.push(buildOutboundListener(scope, { ...entry, binds: free }, accessLogs));
  }
  if (httpProxy !== undefined) listeners.push(httpProxy);
  if (scope.traits.interception !== "NONE") listeners.push(buildVirtualOutbound(scope, accessLogs));
  return { listeners, conflicts };
}

/** What the Sidecar object binds for calls to the workload goes before. */
function ingressPlaces({ sidecar, traits }: OutboundScope): readonly string[] {
  const ingress = sidecar?.spec.ingress ?? [];
  return ingress
    .filter(({ captureMode, bind }) => bind !== "" && (captureMode === "NONE" || traits.interception === "NONE"))
    .map(({ bind, port }) => listenerName(bind, port?.number ?? 0));
}

function placesOf(listener: Listener | undefined): readonly string[] {
  if (listener === undefined) return [];
  const addresses = [listener.address, ...(listener.additionalAddresses ?? []).map(({ address }) => address)];
  return addresses.map((address) =>
    listenerName(address?.socketAddress?.address ?? "", address?.socketAddress?.portValue ?? 0),
  );
}

/** The proxy's own listeners have all addresses; whoever binds one of their ports, or waits for every address of it, is in their way. */
function unusable({ mesh, traits }: OutboundScope, { binds, port, isBound }: OutboundEntry): ConflictKind | undefined {
  const [primary = ""] = binds;
  if (isUnixAddress(primary)) return undefined;
  if ((isBound || isWildcardBind(primary)) && isReservedPort(mesh, traits.listening, port)) return "reserved-port";
  return isBound && traits.unprivileged && port < 1024 ? "privileged-port" : undefined;
}

function ownerOf({ tcp, http }: OutboundEntry): string {
  return tcp[0]?.owners[0] ?? http?.routeName ?? "";
}
