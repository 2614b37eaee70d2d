import { fqdnProblem, isDnsLabel } from "../../config/index.ts";

/** `mesh`, `name`, `namespace/name`, or a full name as old rules spell it. */
export function gatewayNameReason(name: string): string | undefined {
  const parts = name.split("/");
  const isName = parts.length === 1 && fqdnProblem(name) === undefined;
  const isPair = parts.length === 2 && (parts[0] === "." || isDnsLabel(parts[0] ?? "")) && isDnsLabel(parts[1] ?? "");
  return isName || isPair
    ? undefined
    : `invalid gateway name ${JSON.stringify(name)}; allowed: mesh, name, namespace/name`;
}

/** Which proxies a rule is for. No list means the sidecars of the mesh. */
export function gatewayReach(gateways: readonly string[]): { readonly mesh: boolean; readonly gateway: boolean } {
  if (gateways.length === 0) return { mesh: true, gateway: false };
  return { mesh: gateways.includes("mesh"), gateway: gateways.some((name) => name !== "mesh") };
}
