import { expect, test } from "vitest";
import { Secret } from "../../base/secret.ts";
import { findCredential } from "./docker-config.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const find = (config: unknown, registry: string, repository = "org/app") => {
  const found = findCredential(new Secret(JSON.stringify(config)), { registry, repository });
  if (found === undefined) return undefined;
  return found.kind === "basic"
    ? Buffer.from(found.basic.reveal(), "base64").toString()
    : `${found.kind} ${found.token.reveal()}`;
};

test.each([
  { what: "auth", entry: { auth: base64("u:p:with:colons") }, found: "u:p:with:colons" },
  { what: "name and password", entry: { username: "u", password: "p" }, found: "u:p" },
  { what: "identity token", entry: { auth: base64("x:y"), identitytoken: "t" }, found: "identity-token t" },
  { what: "registry token", entry: { registrytoken: "t" }, found: "registry-token t" },
  { what: "nothing", entry: {}, found: undefined },
  { what: "something else", entry: "text", found: undefined },
])("an entry with $what", ({ entry, found }) => {
  expect(find({ auths: { "ghcr.io": entry } }, "ghcr.io")).toBe(found);
});

test.each([
  { key: "ghcr.io", registry: "ghcr.io", fits: true },
  { key: "https://ghcr.io", registry: "ghcr.io", fits: true },
  { key: "https://ghcr.io/v2/", registry: "ghcr.io", fits: true },
  { key: "https://index.docker.io/v1/", registry: "index.docker.io", fits: true },
  { key: "docker.io", registry: "index.docker.io", fits: true },
  { key: "localhost:5000", registry: "localhost:5000", fits: true },
  { key: "localhost", registry: "localhost:5000", fits: false },
  { key: "ghcr.io.evil.test", registry: "ghcr.io", fits: false },
  { key: "ghcr.io/org", registry: "ghcr.io", fits: true },
  { key: "ghcr.io/or", registry: "ghcr.io", fits: false },
  { key: "ghcr.io/other", registry: "ghcr.io", fits: false },
])("the key $key fits $registry: $fits", ({ key, registry, fits }) => {
  expect(find({ auths: { [key]: { username: "u", password: "p" } } }, registry)).toBe(fits ? "u:p" : undefined);
});

test("the longest key that fits is taken", () => {
  const auths = { "ghcr.io": { auth: base64("a:1") }, "ghcr.io/org": { auth: base64("b:2") } };
  expect(find({ auths }, "ghcr.io")).toBe("b:2");
  expect(find({ auths }, "ghcr.io", "else/app")).toBe("a:1");
});

test("no matching entry and no entries at all mean anonymous", () => {
  expect(find({ auths: {} }, "ghcr.io")).toBeUndefined();
  expect(find({}, "ghcr.io")).toBeUndefined();
});

test.each(["null", "", "{", "[]", '"text"', '{"auths": 3}', '{"auths": {"ghcr.io": {"auth": "bm9jb2xvbg=="}}}'])(
  "%s is an error that does not repeat it",
  (text) => {
    const attempt = () => findCredential(new Secret(text), { registry: "ghcr.io", repository: "a" });
    expect(attempt).toThrow(/image pull secret/);
    expect(attempt).not.toThrow(/bm9jb2xvbg/);
  },
);
