import { createSign, generateKeyPairSync } from "node:crypto";
import type { SimulatedCall } from "../../../src/simulate/index.ts";
import { hostOf, PORTS, SERVERS, USERS, VIPS } from "./random-mesh.ts";
import type { RandomSource } from "./random-source.ts";

/** A call with the address that a client outside of the simulation has to use. */
export interface RandomCall {
  readonly call: SimulatedCall;
  readonly address: string;
}

/** Names that a client can ask for, with where they lead. */
const TARGETS: readonly { readonly host: string; readonly address: string; readonly ports: readonly number[] }[] = [
  { host: "a", address: VIPS.a, ports: [80, 80, 80, 9003, 9001] },
  { host: hostOf("a"), address: VIPS.a, ports: [80, 80, 9003, 9001] },
  { host: hostOf("b"), address: VIPS.b, ports: [80, 9003, 9001] },
  { host: hostOf("empty"), address: VIPS.empty, ports: [80, 9001] },
  { host: VIPS.a, address: VIPS.a, ports: [80] },
  { host: SERVERS.v1, address: SERVERS.v1, ports: [PORTS.http, PORTS.tcp] },
  { host: SERVERS.plain, address: SERVERS.plain, ports: [PORTS.http] },
  { host: "outside.example", address: SERVERS.plain, ports: [80] },
  { host: "unknown.example", address: SERVERS.plain, ports: [PORTS.http] },
];
const PATHS = ["/", "/a", "/a/b", "/ab/c", "/x", "/A", "/a/../x", "/api/v1/users", "/a?q=1", "/x?q=12&r=3"] as const;

export function randomCall(random: RandomSource, tokens: readonly string[]): RandomCall {
  const { host, address, ports } = random.pick(TARGETS);
  const port = random.pick(ports);
  const isTcp = port === 9001;
  const token = random.chance(0.3) ? { authorization: `Bearer ${random.pick(tokens)}` } : {};
  const other = random.chance(0.05) ? { "x-token": random.pick(tokens) } : {};
  const isPreflight = random.chance(0.05);
  const preflight = isPreflight
    ? { origin: random.pick(["https://good.example", "https://bad.example"]), "access-control-request-method": "GET" }
    : {};
  const user = random.pick(USERS);
  const call: SimulatedCall = {
    host,
    port,
    speaks: isTcp ? "bytes" : "http1",
    isTls: false,
    method: isPreflight ? "OPTIONS" : random.pick(["GET", "GET", "POST"]),
    path: random.pick(PATHS),
    headers: { ...(user !== "" && { "x-user": user }), ...token, ...other, ...preflight },
    address,
  };
  return { call, address };
}

/** Good and bad tokens, and the key set that signs the good ones. */
export function createTokens(nowSeconds: number): { readonly keys: string; readonly tokens: readonly string[] } {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = JSON.stringify({
    keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }],
  });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const sign = (claims: object, kid = "k") => {
    const text = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part({ exp: nowSeconds + 3600, ...claims })}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  };
  const alice = { iss: "https://login.example", sub: "alice", aud: "shop", groups: ["admins"] };
  return {
    keys,
    tokens: [
      sign(alice),
      sign({ ...alice, sub: "bob", aud: ["other"], groups: "admins" }),
      sign({ ...alice, exp: nowSeconds - 3600 }),
      sign({ ...alice, nbf: nowSeconds + 3600 }),
      sign({ ...alice, iss: "https://partner.example" }),
      sign({ ...alice, iss: "https://nobody.example" }),
      sign(alice, "another key"),
      `${sign(alice).slice(0, -6)}AAAAAA`,
      "no token at all",
      "a.b.c",
    ],
  };
}
