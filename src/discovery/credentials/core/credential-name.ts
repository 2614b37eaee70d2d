/** What the name of a secret resource asks for. */
export type CredentialName =
  | {
      readonly kind: "secret" | "gateway-secret" | "config-map";
      readonly namespace: string;
      /** Of the object, without the suffix for roots where the resource has it. */
      readonly name: string;
      /** Roots to check peers with, not a certificate of one's own. */
      readonly isRoots: boolean;
    }
  /** Never there, on purpose: a reference that is known to be wrong. */
  | { readonly kind: "invalid" }
  | { readonly kind: "unknown"; readonly problem: string };

export const ROOTS_SUFFIX = "-cacert";

/**
 * `kubernetes://NAME` of the proxy's own namespace, `kubernetes://NAMESPACE/NAME`, `kubernetes-gateway://NAMESPACE/NAME`,
 * `configmap://NAMESPACE/NAME` (roots only) and `invalid://`.
 */
export function parseCredentialName(resource: string, ownNamespace: string): CredentialName {
  const [, scheme = "", rest = ""] = /^([a-z-]+):\/\/(.*)$/.exec(resource) ?? [];
  const [first = "", second, ...more] = rest.split("/");
  const problem = (text: string): CredentialName => ({
    kind: "unknown",
    problem: `resource name ${JSON.stringify(resource)} ${text}`,
  });
  if (scheme === "invalid") return { kind: "invalid" };
  if (scheme === "kubernetes") {
    const [namespace, name] = second === undefined ? [ownNamespace, first] : [first, second];
    if (namespace === "" || name === "" || more.length > 0)
      return problem("is not kubernetes://NAME or kubernetes://NAMESPACE/NAME");
    return { kind: "secret", namespace, ...withoutSuffix(name) };
  }
  if (scheme === "kubernetes-gateway" || scheme === "configmap") {
    if (first === "" || second === undefined || second === "" || more.length > 0)
      return problem(`is not ${scheme}://NAMESPACE/NAME`);
    const { name, isRoots } = withoutSuffix(second);
    if (scheme === "configmap") return { kind: "config-map", namespace: first, name, isRoots: true };
    return { kind: "gateway-secret", namespace: first, name, isRoots };
  }
  return problem("has no known scheme; known are kubernetes://, kubernetes-gateway://, configmap:// and invalid://");
}

function withoutSuffix(name: string): { readonly name: string; readonly isRoots: boolean } {
  const isRoots = name.endsWith(ROOTS_SUFFIX) && name !== ROOTS_SUFFIX;
  return { name: isRoots ? name.slice(0, -ROOTS_SUFFIX.length) : name, isRoots };
}
