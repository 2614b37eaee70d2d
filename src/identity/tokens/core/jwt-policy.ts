/** Which file `JWT_POLICY` names; undefined: none, certificates only. The generation decides what an old policy still means. */
export type JwtPolicyGeneration = "master" | "1.20" | "1.7";

export interface JwtPolicyResult {
  readonly tokenPath: string | undefined;
  readonly level: "info" | "warn";
  readonly message: string;
}

const THIRD_PARTY_PATH = "./var/run/secrets/tokens/istio-token";
const FIRST_PARTY_PATH = "/var/run/secrets/kubernetes.io/serviceaccount/token";

export function jwtPolicy(policy: string, generation: JwtPolicyGeneration): JwtPolicyResult {
  const isMaster = generation === "master";
  if (policy === "third-party-jwt") {
    return { tokenPath: THIRD_PARTY_PATH, level: "info", message: "JWT policy is third-party-jwt" };
  }
  if (policy !== "first-party-jwt") {
    return { tokenPath: isMaster ? THIRD_PARTY_PATH : undefined, level: "info", message: "Using existing certs" };
  }
  if (!isMaster) return { tokenPath: FIRST_PARTY_PATH, level: "info", message: "JWT policy is first-party-jwt" };
  const message = "Using deprecated JWT policy 'first-party-jwt'; treating as 'third-party-jwt'";
  return { tokenPath: THIRD_PARTY_PATH, level: "warn", message };
}
