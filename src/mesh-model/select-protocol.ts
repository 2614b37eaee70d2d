import { type Protocol, parseProtocol } from "../istio-api/values/protocol.ts";

/** A port as a platform describes it, before its protocol is known. */
export interface DescribedPort {
  readonly name: string;
  readonly number: number;
  readonly transport?: "TCP" | "UDP";
  readonly appProtocol?: string;
}

/** Names that Kubernetes has agreed on. */
const APP_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);
/** SMTP, DNS, MySQL, MongoDB: here the server speaks first, so that sniffing would wait for ever. */
const SERVER_FIRST_PORTS = new Set([25, 53, 3306, 27017]);

/** The protocol of a port: UDP, else its appProtocol, else the word before the first hyphen of its name, else sniffed. */
export function selectProtocol({ name, number, transport, appProtocol }: DescribedPort): Protocol {
  if (transport === "UDP") return "UDP";
  if (appProtocol !== undefined) {
    return withDefault(APP_PROTOCOLS.get(appProtocol) ?? parseProtocol(appProtocol), number);
  }
  return withDefault(parseProtocol(prefixOf(name.toLowerCase())), number);
}

function prefixOf(name: string): string {
  if (name === "grpc-web" || name.startsWith("grpc-web-")) return "grpc-web";
  return name.split("-", 1)[0] ?? "";
}

function withDefault(protocol: Protocol, number: number): Protocol {
  return protocol === "Unsupported" && SERVER_FIRST_PORTS.has(number) ? "TCP" : protocol;
}
