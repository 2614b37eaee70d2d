import { formatDuration } from "../base/duration.ts";
import { isJsonObject } from "../base/json-object.ts";
import type { CaServerOptions, JwtRule } from "../ca/index.ts";
import type { ListenOptions } from "../net/listen/listen.ts";
import type { KeyOptions } from "../protocol/x509/key-pair.ts";
import type { FlagValues } from "./flag-values.ts";

/** By the name that `--key` has for it. */
export const CA_KEYS: ReadonlyMap<string, KeyOptions> = new Map([
  ["p256", { type: "ecdsa", curve: "P256" }],
  ["p384", { type: "ecdsa", curve: "P384" }],
  ["rsa2048", { type: "rsa", bits: 2048 }],
  ["rsa4096", { type: "rsa", bits: 4096 }],
]);

/** The command adds the rule of its own token issuer, metrics and logger. */
export type CaSettings = Omit<CaServerOptions, "metrics" | "log" | "jwtRules"> & {
  readonly jwtRules: readonly JwtRule[];
};

export function readCaDirectory(flags: FlagValues): string {
  const directory = flags.string("dir");
  if (directory !== "") return directory;
  throw new Error('required flag "dir" not set: the directory of the CA\'s key and certificates');
}

export function readCaSettings(flags: FlagValues): CaSettings {
  const key = CA_KEYS.get(flags.string("key"));
  if (key === undefined) {
    throw new Error(`--key is ${JSON.stringify(flags.string("key"))}, allowed are ${[...CA_KEYS.keys()].join(", ")}`);
  }
  const rule = flags.string("jwt-rule");
  return {
    directory: readCaDirectory(flags),
    trustDomain: flags.string("trust-domain"),
    listen: parseListen(flags.string("listen")),
    hosts: flags.stringArray("host"),
    jwtRules: rule === "" ? [] : [parseJwtRule(rule)],
    selfSigned: { key },
    ttl: { defaultMs: milliseconds(flags.duration("default-ttl")), maxMs: milliseconds(flags.duration("max-ttl")) },
  };
}

/** What `--issue-token` asks for. */
export function readTokenRequest(flags: FlagValues) {
  const account = parseAccount(flags.string("issue-token"));
  const lifetime = flags.duration("token-ttl");
  const seconds = Number(lifetime / 1_000_000_000n);
  if (seconds < 1) throw new Error(`--token-ttl is ${formatDuration(lifetime)}, the least is 1s`);
  return { account, seconds };
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}

/** "NAMESPACE/ACCOUNT" */
export function parseAccount(text: string): { readonly namespace: string; readonly name: string } {
  const [, namespace, name] = /^([^/:\s]+)\/([^/:\s]+)$/.exec(text) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new Error(`--issue-token is ${JSON.stringify(text)}, expected NAMESPACE/ACCOUNT`);
}

/** "host:port", "[address]:port" or "unix:path"; port 0 takes any free one. */
export function parseListen(text: string): ListenOptions {
  if (text.startsWith("unix:") && text.length > "unix:".length) return { path: text.slice("unix:".length) };
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new Error(`--listen is ${JSON.stringify(text)}, expected HOST:PORT, [ADDRESS]:PORT or unix:PATH`);
}

/** The JSON of `JWT_RULE`: which issuer's tokens are accepted, for which audiences, signed with which keys. */
export function parseJwtRule(text: string): JwtRule {
  const value = parseObject(text);
  const { issuer, audiences, jwks_uri: jwksUri, jwks } = value;
  if (typeof issuer !== "string" || issuer === "") throw invalid('"issuer" must be a text');
  if (audiences !== undefined && !(Array.isArray(audiences) && audiences.every((one) => typeof one === "string"))) {
    throw invalid('"audiences" must be a list of texts');
  }
  if (jwksUri !== undefined && typeof jwksUri !== "string") throw invalid('"jwks_uri" must be a text');
  // Inline keys may be the document itself or its text.
  const inline = typeof jwks === "object" && jwks !== null ? JSON.stringify(jwks) : jwks;
  if (inline !== undefined && typeof inline !== "string") throw invalid('"jwks" must be a key list or its text');
  return {
    issuer,
    audiences: (audiences as readonly string[] | undefined) ?? [],
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(inline === undefined ? {} : { jwks: inline }),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(`not JSON: ${cause instanceof Error ? cause.message : cause}`);
  }
  if (!isJsonObject(value)) throw invalid("not a JSON object");
  return value;
}

function invalid(problem: string): Error {
  return new Error(`--jwt-rule (or JWT_RULE) cannot be used: ${problem}`);
}
