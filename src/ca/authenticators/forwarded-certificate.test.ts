import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Metadata } from "../../grpc/metadata.ts";
import { forwardedCertificateAuthenticator, forwardedNames } from "./forwarded-certificate.ts";

const { signal } = new AbortController();
const WEB = "spiffe://cluster.local/ns/default/sa/web";

describe("names in the header", () => {
  test.each([
    [`By=spiffe://x;Hash=abc;URI=${WEB}`, [WEB]],
    [`URI=${WEB};DNS=web.example;DNS=www.example`, [WEB, "web.example", "www.example"]],
    [`Hash=1;Subject="CN=web,O=example";URI=${WEB},By=y;URI=spiffe://other`, [WEB, "web", "spiffe://other"]],
    [`DNS=www.example;Subject="CN=web";URI=${WEB}`, [WEB, "www.example", "web"]],
    ['Subject="/O=a;b/CN=web, inc";Hash=1', ["web"]],
    ['Subject="O=no name"', []],
    ['URI="spiffe://a,b;c"', ["spiffe://a,b;c"]],
    ["uri=a;Uri=", ["a"]],
    ["By=only", []],
    ["", []],
    ["URI", []],
  ])("%s: %j", (header, names) => {
    expect(forwardedNames(header)).toEqual(names);
  });

  test("any text gives names or none", () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(forwardedNames(header).every((name) => name !== "")).toBe(true);
      }),
    );
  });
});

describe("a gateway", () => {
  const ask = (ranges: readonly string[], address: string, headers: Record<string, string>) =>
    forwardedCertificateAuthenticator(ranges)
      .authenticate({ peer: { address, tls: undefined }, metadata: Metadata.from(headers) }, signal)
      .then(({ identities }) => identities.join(" "))
      .catch((thrown: Error) => thrown.message);
  const header = { "x-forwarded-client-cert": `URI=${WEB}` };

  test.each([
    { ranges: ["10.0.0.0/8"], peer: "10.9.8.7:1234", says: WEB },
    { ranges: ["10.0.0.0/8"], peer: "[::ffff:10.9.8.7]:1234", says: WEB },
    { ranges: ["192.0.2.1"], peer: "192.0.2.1:1", says: WEB },
    { ranges: ["10.0.0.0/8", "fd00::/8"], peer: "[fd00::1]:1", says: WEB },
    { ranges: ["10.0.0.0/8"], peer: "11.0.0.1:1", says: "the peer is not in a trusted network" },
    { ranges: ["10.0.0.0/8"], peer: "127.0.0.1:1", says: "the peer is not in a trusted network" },
    { ranges: ["10.0.0.0/8"], peer: "unix", says: "the peer is not in a trusted network" },
  ])("of $ranges at $peer: $says", async ({ ranges, peer, says }) => {
    expect(await ask(ranges, peer, header)).toContain(says);
  });

  test("must say who its client is", async () => {
    expect(await ask(["10.0.0.0/8"], "10.0.0.1:1", {})).toBe("no x-forwarded-client-cert header");
    expect(await ask(["10.0.0.0/8"], "10.0.0.1:1", { "x-forwarded-client-cert": "Hash=1" })).toBe(
      "x-forwarded-client-cert has no identity",
    );
  });

  test.each(["10.0.0.0/33", "gateway", "fd00::/129", "10.0.0.0/x", "10.0.0.0/"])("cannot be at %s", (range) => {
    expect(() => forwardedCertificateAuthenticator([range])).toThrow(`TRUSTED_GATEWAY_CIDR has "${range}"`);
  });
});
