import { asText, type Json, objects } from "../json.ts";

/** The list with the port added, unless it is 0, empty or an exact element already. */
export function excludeInboundPort(port: string, excluded: string): string {
  const wanted = port.trim();
  const parts = excluded.split(",");
  if (wanted === "" || wanted === "0" || parts.includes(wanted)) return excluded;
  return [...parts.map((part) => part.trim()).filter((part) => part !== ""), wanted].join(",");
}

/** TCP ports of containers, joined by commas. */
export function containerPorts(containers: readonly Json[]): string {
  return containers
    .flatMap((container) => objects(container.ports))
    .filter(({ protocol }) => asText(protocol) !== "UDP" && asText(protocol) !== "SCTP")
    .map(({ containerPort }) => String(containerPort ?? 0))
    .join(",");
}
