import fc from "fast-check";
import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { parseChallenges, realmsOf } from "./auth-challenge.ts";

const bearer = { scheme: "bearer", realm: "https://auth.test/token", service: "", scope: "" };

test.each([
  { header: 'Bearer realm="https://auth.test/token"', challenge: bearer },
  {
    header: 'Bearer realm="https://auth.test/token",service="reg",scope="repository:a/b:pull,push"',
    challenge: { ...bearer, service: "reg", scope: "repository:a/b:pull,push" },
  },
  { header: 'bearer service=reg , realm="https://auth.test/token"', challenge: { ...bearer, service: "reg" } },
  { header: 'Basic realm="images"', challenge: { scheme: "basic" } },
  { header: "Basic", challenge: { scheme: "basic" } },
  { header: 'Basic realm="x", Bearer realm="https://auth.test/token"', challenge: bearer },
  { header: 'Bearer realm="https://auth.test/token", Basic realm="x"', challenge: bearer },
  { header: 'Negotiate, Basic realm="x"', challenge: { scheme: "basic" } },
  { header: 'Bearer service="no realm"', challenge: undefined },
  { header: "Negotiate", challenge: undefined },
  { header: "", challenge: undefined },
])("$header", ({ header, challenge }) => {
  expect(parseChallenges([header])).toEqual(challenge);
});

test("of several headers the first bearer challenge counts", () => {
  expect(parseChallenges(['Basic realm="x"', 'Bearer realm="https://auth.test/token"'])).toEqual(bearer);
});

test("every realm that is an address is listed, whoever names it", () => {
  const headers = ['Basic realm="Registry Realm", Bearer realm="https://b/t",x="1"', 'Digest REALM="file:///c"'];
  expect(realmsOf(headers)).toEqual(["https://b/t", "file:///c"]);
});

test("no header keeps the parser busy or makes it throw", () => {
  const hostile = [
    (length: number) => `Bearer${" ".repeat(8 * length)}`,
    (length: number) => "Bearer a=,".repeat(length),
    (length: number) => `${" ,".repeat(4 * length)}Bearer`,
    (length: number) => '"'.repeat(8 * length),
  ];
  for (const header of hostile) {
    expect(growthFactor((length) => parseChallenges([header(length)]), 1000)).toBeLessThan(BELOW_SQUARE);
  }
  fc.assert(fc.property(fc.string({ unit: "binary-ascii" }), (header) => void parseChallenges([header])));
});
