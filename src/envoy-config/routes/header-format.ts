/**
 * Envoy reads header values as format strings: `%DOWNSTREAM_REMOTE_ADDRESS%` is replaced, and a percent sign that begins no command
 * makes it refuse the configuration. Commands it knows are kept; every other percent sign is sent as itself.
 */
export function formatHeaderValue(value: string): string {
  if (!value.includes("%")) return value;
  return value.replace(COMMAND, (text, name: string | undefined, argument: string | undefined) => {
    if (text === "%%") return text;
    return name !== undefined && isKnown(name, argument) ? text : text.replaceAll("%", "%%");
  });
}

const COMMAND = /%%|%([A-Z][A-Z0-9_]*)(?:\(([^()%]*)\))?(?::\d+)?%|%/g;

function isKnown(name: string, argument: string | undefined): boolean {
  if (PLAIN_COMMANDS.has(name)) return argument === undefined;
  if (HEADER.has(name)) return argument !== undefined && /^[^?\s]+(\?[^?\s]+)?$/.test(argument);
  return name === "START_TIME" && argument === undefined;
}

/** Takes the name of a header, and one to fall back to. */
const HEADER = new Set(["REQ", "RESP", "TRAILER"]);

/** Commands without argument. */
export const PLAIN_COMMANDS: ReadonlySet<string> = new Set([
  "BYTES_RECEIVED",
  "CONNECTION_ID",
  "CONNECTION_TERMINATION_DETAILS",
  "DOWNSTREAM_DIRECT_LOCAL_ADDRESS",
  "DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_DIRECT_REMOTE_ADDRESS",
  "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_LOCAL_ADDRESS",
  "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_LOCAL_DNS_SAN",
  "DOWNSTREAM_LOCAL_PORT",
  "DOWNSTREAM_LOCAL_SUBJECT",
  "DOWNSTREAM_LOCAL_URI_SAN",
  "DOWNSTREAM_PEER_CERT",
  "DOWNSTREAM_PEER_DNS_SAN",
  "DOWNSTREAM_PEER_FINGERPRINT_1",
  "DOWNSTREAM_PEER_FINGERPRINT_256",
  "DOWNSTREAM_PEER_ISSUER",
  "DOWNSTREAM_PEER_SERIAL",
  "DOWNSTREAM_PEER_SUBJECT",
  "DOWNSTREAM_PEER_URI_SAN",
  "DOWNSTREAM_REMOTE_ADDRESS",
  "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
  "DOWNSTREAM_REMOTE_PORT",
  "DOWNSTREAM_TLS_CIPHER",
  "DOWNSTREAM_TLS_SESSION_ID",
  "DOWNSTREAM_TLS_VERSION",
  "DOWNSTREAM_TRANSPORT_FAILURE_REASON",
  "HOSTNAME",
  "PROTOCOL",
  "REQUESTED_SERVER_NAME",
  "RESPONSE_CODE",
  "RESPONSE_CODE_DETAILS",
  "RESPONSE_FLAGS",
  "ROUTE_NAME",
  "STREAM_ID",
  "UPSTREAM_CLUSTER",
  "UPSTREAM_HOST",
  "UPSTREAM_LOCAL_ADDRESS",
  "UPSTREAM_REMOTE_ADDRESS",
  "UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
  "UPSTREAM_TRANSPORT_FAILURE_REASON",
  "VIRTUAL_CLUSTER_NAME",
]);
