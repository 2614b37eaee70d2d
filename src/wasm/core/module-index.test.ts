import { expect, test } from "vitest";
import { ModuleIndex, pinnedChecksum } from "./module-index.ts";
import type { PullPolicy, RemoteModule } from "./remote-module.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);

function ask(url: string, more: Partial<RemoteModule> = {}): RemoteModule {
  return {
    url,
    checksum: "",
    timeoutMs: 1000,
    pullSecret: undefined,
    pullPolicy: "unspecified",
    resourceName: "r",
    resourceVersion: "1",
    ...more,
  };
}

const TAG = "oci://ghcr.io/org/app:v1";
const LATEST = "oci://ghcr.io/org/app:latest";
const HTTP = "https://x/app.wasm";

test.each<{ url: string; policy: PullPolicy; version: string; checksum?: string; known: string }>([
  { url: TAG, policy: "unspecified", version: "2", known: A },
  { url: TAG, policy: "if-not-present", version: "2", known: A },
  { url: TAG, policy: "always", version: "2", known: "" },
  { url: TAG, policy: "always", version: "1", known: A },
  { url: LATEST, policy: "unspecified", version: "2", known: "" },
  { url: LATEST, policy: "unspecified", version: "1", known: A },
  { url: LATEST, policy: "if-not-present", version: "2", known: A },
  { url: LATEST, policy: "unspecified", version: "2", checksum: A, known: A },
  { url: LATEST, policy: "always", version: "2", checksum: A, known: A },
  { url: HTTP, policy: "unspecified", version: "2", known: A },
  { url: HTTP, policy: "always", version: "2", known: "" },
  { url: `https://x/app:latest`, policy: "unspecified", version: "2", known: A },
])("$url pulled for version 1, asked again for version $version with $policy", (row) => {
  const { url, policy, version, checksum = "", known } = row;
  const index = new ModuleIndex();
  index.noteUse(ask(url), A);
  expect(index.known(ask(url, { pullPolicy: policy, resourceVersion: version, checksum }))).toBe(known);
});

test("the version that was asked for last is the one compared with, regardless of what the answer was", () => {
  const index = new ModuleIndex();
  const with_ = (resourceVersion: string, pullPolicy: PullPolicy) =>
    index.known(ask(TAG, { resourceVersion, pullPolicy }));
  index.noteUse(ask(TAG, { pullPolicy: "always" }), A);
  expect(with_("1", "always")).toBe(A);
  expect(with_("2", "if-not-present")).toBe(A);
  expect(with_("2", "always")).toBe(A);
  expect(with_("3", "always")).toBe("");
  expect(with_("3", "always")).toBe(A);
});

test("each resource has a version of its own", () => {
  const index = new ModuleIndex();
  index.noteUse(ask(TAG, { resourceName: "one" }), A);
  expect(index.known(ask(TAG, { resourceName: "two", pullPolicy: "always" }))).toBe("");
  expect(index.known(ask(TAG, { resourceName: "one", pullPolicy: "always" }))).toBe(A);
});

test("a digest in the address is the content, known or not", () => {
  const index = new ModuleIndex();
  expect(index.known(ask(`oci://ghcr.io/org/app@sha256:${A}`))).toBe(A);
  expect(index.known(ask(`oci://ghcr.io/org/app@sha512:${A}${A}`))).toBe("");
  expect(pinnedChecksum({ url: `oci://ghcr.io/org/app@sha256:${A}`, checksum: B })).toBe(B);
});

test("a digest that names an index leads to the image chosen from it", () => {
  const index = new ModuleIndex();
  const pinned = ask(`oci://ghcr.io/org/app@sha256:${B}`);
  index.noteUse(pinned, A);
  expect(index.known(pinned)).toBe(A);
  index.remove({ name: "oci://ghcr.io/org/app", checksum: A });
  expect(index.known(pinned)).toBe(B);
});

test("a removed module takes its own addresses along and no others", () => {
  const index = new ModuleIndex();
  const other = "oci://ghcr.io/org/other:v1";
  index.noteUse(ask(TAG), A);
  index.noteUse(ask(LATEST), B);
  index.noteUse(ask(other), A);
  index.remove({ name: "oci://ghcr.io/org/app", checksum: A });
  expect([TAG, LATEST, other].map((url) => index.known(ask(url)))).toEqual(["", B, A]);
});

test("what was not used for long is listed", () => {
  const index = new ModuleIndex();
  const entry = (checksum: string, lastUsedAt: number) => ({
    name: "n",
    checksum,
    path: `/${checksum}`,
    bytes: 1,
    lastUsedAt,
  });
  index.add(entry(A, 10));
  index.add(entry(B, 20));
  expect(index.unusedSince(15).map(({ checksum }) => checksum)).toEqual([A]);
  expect(index.holds(`/${B}`)).toBe(true);
  expect(index.size).toBe(2);
});
