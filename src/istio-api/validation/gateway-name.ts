import { fqdnProblem, isDnsLabel } from "../values/dns-name.ts";

/** `mesh`, `name`, `namespace/name`, or a full name as old rules spell it. */
export function gatewayNameReason(name: string): string | undefined {
  const parts = name.split("/");
  const isName = parts.length === 1 && fqdnProblem(name) === undefined;
  const isPair = parts.length === 2 && isDnsLabel(parts[0] ?? "") && isDnsLabel(parts[1] ?? "");
  return isName || isPair
    ? undefined
    : `invalid gateway name ${JSON.stringify(name)}; allowed: mesh, name, namespace/name`;
}

/** Which proxies a rule is for. No list means the sidecars of the mesh; one with `mesh` must work on sidecars too. */
export function gatewayReach(gateways: readonly string[]): { readonly mesh: boolean; readonly gateway: boolean } {
  if (gateways.length === 0) return { mesh: true, gateway: false };
  const mesh = gateways.includes("mesh");
  return { mesh, gateway: !mesh };
}
