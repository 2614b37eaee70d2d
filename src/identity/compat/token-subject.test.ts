import { describe, expect, test } from "vitest";
import { Secret } from "../../base/secret.ts";
import { withTokenSubject } from "./token-subject.ts";

const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const fetcher = (token: string | undefined) => ({
  identityProvider: "",
  fetch: async () => (token === undefined ? undefined : new Secret(token)),
  stop: async () => undefined,
});
const tokenOf = (sub: unknown) => `${segment({ alg: "none" })}.${segment({ sub })}.`;

describe("who the workload is, up to 1.7", () => {
  test.each([
    { what: "a service account's token", token: tokenOf("system:serviceaccount:shop:cart"), gives: ["shop", "cart"] },
    { what: "no token", token: undefined, gives: ["", ""] },
    { what: "an opaque token", token: "opaque", gives: ["", ""] },
    { what: "a token of a person", token: tokenOf("alice"), gives: ["", ""] },
    { what: "a subject of five parts", token: tokenOf("system:serviceaccount:a:b:c"), gives: ["", ""] },
    { what: "a subject of another type", token: tokenOf({ a: 1 }), gives: ["", ""] },
  ])("$what", async ({ token, gives: [namespace, serviceAccount] }) => {
    const names = { trustDomain: "", namespace: "", serviceAccount: "" };
    const found = await withTokenSubject(names, fetcher(token));
    expect(found).toEqual({ trustDomain: "cluster.local", namespace, serviceAccount });
  });

  test("variables go before the token", async () => {
    const names = { trustDomain: "td", namespace: "ns", serviceAccount: "sa" };
    const found = await withTokenSubject(names, fetcher(tokenOf("system:serviceaccount:shop:cart")));
    expect(found).toEqual(names);
  });
});
