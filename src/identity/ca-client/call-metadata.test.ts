import { expect, test } from "vitest";
import { Secret } from "../../base/secret.ts";
import { callMetadata } from "./sign-over.ts";

const names = ["clusterid", "authorization", "x-retry-attempt", "x-team", "under_score"];
const sent = ({ headers, ...parts }: Partial<Parameters<typeof callMetadata>[0]>) => {
  const all = { clusterid: "Kubernetes", ...headers };
  const metadata = callMetadata({ headers: all, token: undefined, attempt: 1, ...parts });
  return Object.fromEntries(names.map((name) => [name, metadata.get(name)]).filter(([, value]) => value !== undefined));
};

test.each([
  { name: "the first call without a token", parts: {}, metadata: { clusterid: "Kubernetes" } },
  {
    name: "a token",
    parts: { token: new Secret("abc.def") },
    metadata: { clusterid: "Kubernetes", authorization: "Bearer abc.def" },
  },
  { name: "the second attempt", parts: { attempt: 2 }, metadata: { clusterid: "Kubernetes", "x-retry-attempt": "1" } },
  { name: "the fifth attempt", parts: { attempt: 5 }, metadata: { clusterid: "Kubernetes", "x-retry-attempt": "4" } },
  {
    name: "headers of the configuration, in lower case and with their underscores",
    parts: { headers: { "X-Team": "mesh", under_score: "kept" } },
    metadata: { clusterid: "Kubernetes", "x-team": "mesh", under_score: "kept" },
  },
  {
    name: "a configured cluster, which wins",
    parts: { headers: { ClusterID: "east" } },
    metadata: { clusterid: "east" },
  },
])("metadata of $name", ({ parts, metadata }) => {
  expect(sent(parts)).toEqual(metadata);
});

test.each([
  { name: "a header's name", parts: { headers: { "bad name": "x" } } },
  { name: "a header's value", parts: { headers: { "x-team": "line\nend" } } },
  { name: "a cluster", parts: { headers: { clusterid: "a\r\nb" } } },
])("$name that cannot be sent is the configuration's fault", ({ parts }) => {
  expect(() => sent(parts)).toThrow(
    expect.objectContaining({ code: "bad-config", message: expect.stringMatching(/^cannot call the CA: /) }),
  );
});

test("a token that cannot be sent is not shown", () => {
  const token = new Secret("very-secret\nbytes");
  expect(() => sent({ token })).toThrow(
    expect.objectContaining({ code: "bad-config", message: expect.not.stringContaining("very-secret") }),
  );
});
