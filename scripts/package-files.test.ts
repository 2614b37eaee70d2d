import { readFileSync } from "node:fs";
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
