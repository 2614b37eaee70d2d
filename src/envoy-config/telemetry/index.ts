export { inboundLogs, logServersKey, outboundLogs, type WorkloadLogs } from "./telemetry-logs.ts";
