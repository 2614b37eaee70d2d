import { expect, test } from "vitest";
import { formatSpiffeId, parseSpiffeId, SpiffeError, workloadIdentity } from "./spiffe-id.ts";

test.each([
  {
    uri: "spiffe://cluster.local/ns/a/sa/b",
    id: { trustDomain: "cluster.local", namespace: "a", serviceAccount: "b" },
  },
  { uri: "spiffe://td/ns//sa/", id: { trustDomain: "td", namespace: "", serviceAccount: "" } },
])("$uri is parsed and printed back", ({ uri, id }) => {
  expect(parseSpiffeId(uri)).toEqual(id);
  expect(formatSpiffeId(id)).toBe(uri);
});

test.each([
  "",
  "spiffe://",
  "spiffe://td/ns/a/sa",
  "spiffe://td/ns/a/sa/b/c",
  "spiffe://td/xx/a/sa/b",
  "spiffe://td/ns/a/xx/b",
  "http://td/ns/a/sa/b",
])("%j is not an identity", (uri) => {
  expect(() => parseSpiffeId(uri)).toThrow(SpiffeError);
});

test("a CA writes @ of a trust domain as a dot", () => {
  expect(workloadIdentity("a@b.c", "n", "s")).toBe("spiffe://a.b.c/ns/n/sa/s");
});
