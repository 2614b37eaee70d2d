import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import "../../../test/support/no-open-handles.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { Metadata } from "../../grpc/metadata.ts";
import { createJwtAuthenticator } from "./jwt.ts";

const opened = new CloseStack();
afterEach(() => opened.close());
const { signal } = new AbortController();
const PEER = { address: "10.0.0.1:5", tls: undefined };

test("keys without names that the issuer changed are fetched again", async () => {
  const keys = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  let serving = 0;
  const http = await startHttpServer((_request, response) => {
    response.end(JSON.stringify({ keys: [keys[serving]?.publicKey.export({ format: "jwk" })] }));
  });
  opened.add(http);
  const authenticator = await createJwtAuthenticator({
    rule: { issuer: "issuer", audiences: [], jwksUri: http.url },
    trustDomain: () => "td",
    remote: { minIntervalMs: 0 },
  });
  const authenticated = (key: number) =>
    authenticator.authenticate(
      { peer: PEER, metadata: new Metadata().set("authorization", `Bearer ${token(keys[key]?.privateKey)}`) },
      signal,
    );
  await expect(authenticated(0)).resolves.toMatchObject({ identities: ["spiffe://td/ns/ns/sa/web"] });
  serving = 1;
  await expect(authenticated(1)).resolves.toMatchObject({ identities: ["spiffe://td/ns/ns/sa/web"] });
  await expect(authenticated(0)).rejects.toThrow("the token's signature is wrong");
});

function token(key: KeyObject | undefined): string {
  if (key === undefined) throw new Error("no key");
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: "issuer", sub: "system:serviceaccount:ns:web", exp: Math.floor(Date.now() / 1000) + 60 };
  const signed = `${segment({ alg: "ES256" })}.${segment(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}
