import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface LockedPackage {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));
const locked = read("package-lock.json").packages as Readonly<Record<string, LockedPackage>>;

test("the lock file has every platform's package, without which npm ci refuses it", () => {
  const wanted = Object.values(locked).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  expect(wanted.filter((name) => locked[`node_modules/${name}`] === undefined)).toEqual([]);
});

test("the lock file names no registry, so that the machine's own is used", () => {
  const named = Object.entries(locked).filter(([, entry]) => entry.resolved !== undefined);
  expect(named.map(([path]) => path)).toEqual([]);
});

test("the program itself needs no package: everything is bundled", () => {
  expect(read("package.json")).not.toHaveProperty("dependencies");
});

test("the notices of bundled packages are published, word for word", () => {
  const text = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  expect(read("package.json").files).toContain("THIRD-PARTY-NOTICES");
  const sources = ["src", "web"].flatMap((folder) =>
    readdirSync(new URL(`../${folder}`, import.meta.url), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  const isTest = (name: string) => name.endsWith(".test.ts");
  const bundled = new Set(
    sources
      .filter((name) => !isTest(name))
      .flatMap((name) => [...text(name).matchAll(/^(?:import|export|\} from)\b[^;]*?from "([^"]+)";/gm)])
      .map(([, target = ""]) => target)
      .filter((target) => !/^(?:\.|node:)/.test(target)),
  );
  expect([...bundled]).toEqual(expect.arrayContaining(["yaml", "preact"]));
  // What a package itself bundles in: @preact/signals is a layer on signals-core.
  const packages = [...bundled].map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
  for (const name of [...new Set([...packages, "@preact/signals-core"])])
    expect(text("THIRD-PARTY-NOTICES")).toContain(text(`node_modules/${name}/LICENSE`));
});

test("the package carries the charts that belong to the program", () => {
  expect(read("package.json").files).toContain("deploy");
});
