import { describe, expect, test } from "vitest";
import { documents, peerAuthentication, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { buildPeerAuthenticationIndex } from "./peer-authentication-index.ts";

function policies(...objects: readonly TestObject[]): readonly ConfigObject<"PeerAuthentication">[] {
  const parsed = parseConfigText(documents(...objects));
  expect(parsed.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return parsed.objects.filter((object) => object.kind === "PeerAuthentication").sort(compareAge);
}

const index = (...objects: readonly TestObject[]) => buildPeerAuthenticationIndex(policies(...objects), "root");
const mode = (name: string) => ({ mtls: { mode: name } });
const web = { selector: { matchLabels: { app: "web" } } };
const mesh = (name: string) => peerAuthentication("mesh", "root", mode(name));
const namespace = (name: string) => peerAuthentication("ns", "prod", mode(name));
const workload = (spec: Record<string, unknown>) => peerAuthentication("web", "prod", { ...web, ...spec });

describe("the mode of a workload", () => {
  test.each([
    { is: "nothing set", given: [], gives: "PERMISSIVE" },
    { is: "the mesh's", given: [mesh("STRICT")], gives: "STRICT" },
    { is: "the namespace's over the mesh's", given: [mesh("STRICT"), namespace("DISABLE")], gives: "DISABLE" },
    {
      is: "the workload's over the namespace's",
      given: [namespace("DISABLE"), workload(mode("STRICT"))],
      gives: "STRICT",
    },
    { is: "UNSET of the workload inherits", given: [namespace("DISABLE"), workload(mode("UNSET"))], gives: "DISABLE" },
    { is: "no mtls at all inherits", given: [namespace("STRICT"), workload({})], gives: "STRICT" },
    { is: "UNSET of the namespace inherits", given: [mesh("STRICT"), namespace("UNSET")], gives: "STRICT" },
    { is: "UNSET of the mesh is PERMISSIVE", given: [mesh("UNSET")], gives: "PERMISSIVE" },
    {
      is: "the oldest of a namespace counts",
      given: [peerAuthentication("a", "prod", mode("STRICT"), 2), peerAuthentication("b", "prod", mode("DISABLE"), 1)],
      gives: "DISABLE",
    },
    {
      is: "the oldest of a workload counts",
      given: [
        peerAuthentication("a", "prod", { ...web, ...mode("STRICT") }, 2),
        peerAuthentication("b", "prod", { ...web, ...mode("DISABLE") }, 1),
      ],
      gives: "DISABLE",
    },
    {
      is: "a selector without labels is none",
      given: [peerAuthentication("a", "prod", { selector: {}, ...mode("STRICT") })],
      gives: "STRICT",
    },
    {
      is: "a selector of the root namespace is for that namespace",
      given: [peerAuthentication("a", "root", { ...web, ...mode("STRICT") })],
      gives: "PERMISSIVE",
    },
    {
      is: "another workload's policy says nothing",
      given: [peerAuthentication("a", "prod", { selector: { matchLabels: { app: "x" } }, ...mode("STRICT") })],
      gives: "PERMISSIVE",
    },
  ])("$is: $gives", ({ given, gives }) => {
    expect(index(...given).ofWorkload("prod", { app: "web", version: "v1" }).mode).toBe(gives);
  });
});

test("the root namespace has no policies for single workloads, not even for its own", () => {
  const made = index(peerAuthentication("web", "root", { ...web, ...mode("DISABLE") }));
  expect(made.ofWorkload("root", { app: "web" }).mode).toBe("PERMISSIVE");
  expect(made.modesIn("root").ofPort({ app: "web" }, 80)).toBe("PERMISSIVE");
});

test("ports of a workload's policy have their own modes, UNSET ones inherit", () => {
  const made = index(
    namespace("STRICT"),
    workload({ portLevelMtls: { 8080: { mode: "DISABLE" }, 9090: { mode: "PERMISSIVE" }, 7070: { mode: "UNSET" } } }),
  );
  const { mode: whole, ports } = made.ofWorkload("prod", { app: "web" });
  expect(whole).toBe("STRICT");
  expect(ports).toEqual(
    new Map([
      [7070, "STRICT"],
      [8080, "DISABLE"],
      [9090, "PERMISSIVE"],
    ]),
  );
  expect([8080, 9090, 7070, 1].map((port) => made.modesIn("prod").ofPort({ app: "web" }, port))).toEqual([
    "DISABLE",
    "PERMISSIVE",
    "STRICT",
    "STRICT",
  ]);
  expect(made.modesIn("prod").ofPort({ app: "other" }, 8080)).toBe("STRICT");
});

test("a namespace is known without its workloads", () => {
  const made = index(mesh("STRICT"), namespace("DISABLE"), workload(mode("PERMISSIVE")));
  expect(["prod", "elsewhere", "root"].map(made.ofNamespace)).toEqual(["DISABLE", "STRICT", "STRICT"]);
});

test("an index of the same policies is the same value", () => {
  const given = policies(mesh("STRICT"));
  const before = buildPeerAuthenticationIndex(given, "root");
  expect(buildPeerAuthenticationIndex([...given], "root", before)).toBe(before);
  expect(buildPeerAuthenticationIndex(given, "other", before)).not.toBe(before);
});
