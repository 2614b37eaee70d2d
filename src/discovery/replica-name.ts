import { hostname } from "node:os";

/** By which this replica is known to others, in leases and entries: its pod, or where there is none its process. */
export function replicaName(podName = ""): string {
  return podName || `${hostname()}-${process.pid}`;
}
