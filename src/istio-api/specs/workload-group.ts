import { type Infer, int32, list, map, message, string, uint32 } from "../schema/schema.ts";
import { WORKLOAD_ENTRY } from "./service-entry.ts";

const PROBE = message(
  "probe",
  {
    initialDelaySeconds: int32,
    timeoutSeconds: int32,
    periodSeconds: int32,
    successThreshold: int32,
    failureThreshold: int32,
    httpGet: message("http probe", {
      path: string,
      port: uint32,
      host: string,
      scheme: string,
      httpHeaders: list(message("http header", { name: string, value: string })),
    }),
    tcpSocket: message("tcp probe", { host: string, port: uint32 }),
    exec: message("exec probe", { command: list(string) }),
    grpc: message("grpc probe", { port: uint32, service: string }),
  },
  [["httpGet", "tcpSocket", "exec", "grpc"]],
);
export interface WorkloadProbe extends Infer<typeof PROBE> {}

export const WORKLOAD_GROUP = message("workload group", {
  metadata: message("workload metadata", { labels: map(string), annotations: map(string) }),
  template: WORKLOAD_ENTRY,
  probe: PROBE,
});
export interface WorkloadGroupSpec extends Infer<typeof WORKLOAD_GROUP> {}
