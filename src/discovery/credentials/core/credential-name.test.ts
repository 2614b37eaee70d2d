import { expect, test } from "vitest";
import { parseCredentialName } from "./credential-name.ts";

test.each([
  { resource: "kubernetes://web", is: { kind: "secret", namespace: "own", name: "web", isRoots: false } },
  { resource: "kubernetes://web-cacert", is: { kind: "secret", namespace: "own", name: "web", isRoots: true } },
  { resource: "kubernetes://other/web", is: { kind: "secret", namespace: "other", name: "web", isRoots: false } },
  {
    resource: "kubernetes-gateway://other/web",
    is: { kind: "gateway-secret", namespace: "other", name: "web", isRoots: false },
  },
  { resource: "configmap://other/roots", is: { kind: "config-map", namespace: "other", name: "roots", isRoots: true } },
  {
    resource: "configmap://other/roots-cacert",
    is: { kind: "config-map", namespace: "other", name: "roots", isRoots: true },
  },
  { resource: "invalid://", is: { kind: "invalid" } },
])("$resource asks for $is", ({ resource, is }) => {
  expect(parseCredentialName(resource, "own")).toEqual(is);
});

test.each(["", "web", "kubernetes://", "kubernetes://a/b/c", "configmap://roots", "configmap:///x", "vault://x"])(
  "%j is refused by its name",
  (resource) => {
    const parsed = parseCredentialName(resource, "own");
    expect(parsed).toMatchObject({ kind: "unknown", problem: expect.stringContaining(JSON.stringify(resource)) });
  },
);
