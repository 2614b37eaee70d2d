import { isJsonObject } from "../../../base/json-object.ts";

/** The networks annotation of multus with one more network, `name` or `namespace/name`. Text that is not valid JSON stays as it is. */
export function appendMultusNetwork(existing: string, network: string): string {
  if (existing === "") return network;
  const end = existing.lastIndexOf("]");
  if (end === -1) {
    const isListed = existing.split(",").some((item) => item.trim() === network);
    return isListed ? existing : `${existing}, ${network}`;
  }
  const networks = parseNetworks(existing);
  if (networks === undefined) return existing;
  const [namespace, name] = network.includes("/") ? network.split("/", 2) : ["", network];
  const isListed = networks.some((item) => item.name === name && (item.namespace ?? "") === namespace);
  if (isListed) return existing;
  const added = namespace === "" ? `{"name": "${name}"}` : `{"name": "${name}", "namespace": "${namespace}"}`;
  return `${existing.slice(0, end)}, ${added}${existing.slice(end)}`;
}

function parseNetworks(text: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every(isJsonObject) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
