import { isJsonObject } from "../../base/json-object.ts";
import { Secret } from "../../base/secret.ts";
import { WasmError } from "../wasm-error.ts";
import type { ImageReference } from "./image-reference.ts";

/** How to introduce oneself to a registry. */
export type RegistryCredential =
  | { readonly kind: "basic"; readonly basic: Secret }
  /** Exchanged for a token at the registry's token service. */
  | { readonly kind: "identity-token"; readonly token: Secret }
  /** Sent as it is. */
  | { readonly kind: "registry-token"; readonly token: Secret };

/** The entry of a docker config JSON that fits the image; undefined: anonymous. Errors never quote the document. */
export function findCredential(
  configJson: Secret,
  { registry, repository }: Pick<ImageReference, "registry" | "repository">,
): RegistryCredential | undefined {
  const auths = parseAuths(configJson);
  let best: { readonly length: number; readonly entry: unknown } | undefined;
  for (const [key, entry] of Object.entries(auths)) {
    const { host, path } = splitKey(key);
    if (host !== registry && !(host === "docker.io" && registry === "index.docker.io")) continue;
    if (path !== "" && repository !== path && !repository.startsWith(`${path}/`)) continue;
    if (best === undefined || path.length > best.length) best = { length: path.length, entry };
  }
  return best === undefined ? undefined : toCredential(best.entry);
}

function parseAuths(configJson: Secret): Readonly<Record<string, unknown>> {
  let document: unknown;
  try {
    document = JSON.parse(configJson.reveal());
  } catch {
    // The parser's message would quote the secret.
    throw new WasmError("bad-secret", "the image pull secret is not a JSON document");
  }
  if (!isJsonObject(document)) throw new WasmError("bad-secret", "the image pull secret is not a docker configuration");
  const auths = document.auths ?? {};
  if (!isJsonObject(auths)) throw new WasmError("bad-secret", `"auths" of the image pull secret is not an object`);
  return auths;
}

/** Keys are hosts, hosts with a path, or the address of an ancient API version. */
function splitKey(key: string): { readonly host: string; readonly path: string } {
  const [host = "", ...rest] = key.replace(/^https?:\/\//, "").split("/");
  const path = rest.filter((part) => part !== "").join("/");
  return { host, path: /^v[12]$/.test(path) ? "" : path };
}

function toCredential(entry: unknown): RegistryCredential | undefined {
  if (!isJsonObject(entry)) return undefined;
  const text = (name: string) => (typeof entry[name] === "string" ? entry[name] : "");
  if (text("registrytoken") !== "") return { kind: "registry-token", token: new Secret(text("registrytoken")) };
  if (text("identitytoken") !== "") return { kind: "identity-token", token: new Secret(text("identitytoken")) };
  const pair = text("auth") === "" ? `${text("username")}:${text("password")}` : decoded(text("auth"));
  return pair === ":" ? undefined : { kind: "basic", basic: new Secret(Buffer.from(pair).toString("base64")) };
}

function decoded(auth: string): string {
  const pair = Buffer.from(auth, "base64").toString("utf8").replace(/\0+$/, "");
  if (!pair.includes(":"))
    throw new WasmError("bad-secret", `"auth" of the image pull secret is not base64 of user:password`);
  return pair;
}
