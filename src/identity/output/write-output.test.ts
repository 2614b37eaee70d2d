import { lstat, mkdir, readdir, readFile, readlink, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SPIFFE_ID, validFor } from "../../../test/support/certs/test-ca.ts";
import { newOutputFiles, outputCa, useOutputDirectory } from "../../../test/support/files/sds-output.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { until } from "../../../test/support/wait/until.ts";
import { checkKeyPair } from "../files/key-pair-file.ts";
import { readSaved } from "../open-rotation.ts";
import { CHAIN_FILE, KEY_FILE } from "./output-version.ts";
import { outputModes, startOutput, writeOutput } from "./start-output.ts";

const at = useOutputDirectory();
const modes = outputModes(false);

test("the three files appear with their content, readable by the owner only", async () => {
  const content = await newOutputFiles();
  await expect(writeOutput(at("new", "dir"), content, modes)).resolves.toBe(true);
  for (const [name, bytes] of content) {
    expect(await readFile(at("new", "dir", name))).toEqual(bytes);
    expect((await stat(at("new", "dir", name))).mode & 0o777).toBe(0o600);
  }
  expect((await stat(await realpath(at("new", "dir", "..data")))).mode & 0o777).toBe(0o700);
});

test("in a pod the files are readable by other users", async () => {
  await writeOutput(at(), await newOutputFiles(), outputModes(true));
  expect((await stat(at(KEY_FILE))).mode & 0o777).toBe(0o644);
  expect((await stat(await realpath(at("..data")))).mode & 0o777).toBe(0o755);
});

test("the same content is not written again", async () => {
  const content = await newOutputFiles();
  await writeOutput(at(), content, modes);
  const before = await readlink(at("..data"));
  await expect(writeOutput(at(), content, modes)).resolves.toBe(false);
  expect(await readlink(at("..data"))).toBe(before);
});

test("a reader that resolves the directory once never sees a key beside another pair's certificate", async () => {
  await writeOutput(at(), await newOutputFiles(), modes);
  let reads = 0;
  let isWriting = true;
  const reader = (async () => {
    while (isWriting) {
      const version = await realpath(at("..data"));
      const content = [CHAIN_FILE, KEY_FILE].map((name) => readFile(join(version, name)));
      const [cert, key] = await Promise.all(content).catch(() => []);
      // A reader that slept through two rotations finds its version gone and starts over.
      if (cert === undefined || key === undefined) continue;
      checkKeyPair(cert, key);
      reads += 1;
    }
  })();
  for (let round = 0; round < 30; round += 1) await writeOutput(at(), await newOutputFiles(), modes);
  isWriting = false;
  await reader;
  expect(reads).toBeGreaterThan(0);
});

test("files of an earlier release are taken over, and change together", async () => {
  const old = await newOutputFiles();
  for (const [name, bytes] of old) await writeFile(at(name), bytes);
  const next = await newOutputFiles();
  await writeOutput(at(), next, modes);
  for (const [name, bytes] of next) {
    expect((await lstat(at(name))).isSymbolicLink()).toBe(true);
    expect(await readFile(at(name))).toEqual(bytes);
  }
});

test("only the shown version and the one before stay on disk, and nothing foreign is touched", async () => {
  await mkdir(at("..other"));
  await writeFile(at("note.txt"), "mine");
  for (let round = 0; round < 5; round += 1) await writeOutput(at(), await newOutputFiles(), modes);
  const entries = await readdir(at());
  expect(entries.filter((entry) => entry.startsWith("..certs-"))).toHaveLength(2);
  expect(entries).toEqual(expect.arrayContaining(["..other", "note.txt"]));
  expect(entries.filter((entry) => entry.includes(".tmp."))).toEqual([]);
});

test("a failing write is logged without key bytes, tried again, and what was shown stays", async () => {
  const shown = await newOutputFiles();
  await writeOutput(at(), shown, modes);
  const log = recordLog();
  const next = await newOutputFiles();
  let isFull = true;
  const output = startOutput({
    directory: at(),
    readableByAll: false,
    log,
    collect: async () => next,
    write: async (...args) => {
      if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      return writeOutput(...args);
    },
  });
  output.refresh();
  await output.settled();
  expect(await readFile(at(KEY_FILE))).toEqual(shown.get(KEY_FILE));
  expect(log.printed.join("\n")).toContain("error when output the resource");
  expect(log.printed.join("\n")).not.toContain("PRIVATE KEY");
  isFull = false;
  await until("the new key is written", async () =>
    (await readFile(at(KEY_FILE))).equals(next.get(KEY_FILE) ?? Buffer.of()),
  );
  await output.stop();
});

test("stopping during retries ends them", async () => {
  const write = () => Promise.reject(new Error("disk"));
  const collect = () => newOutputFiles();
  const output = startOutput({ directory: at(), readableByAll: false, log: recordLog(), collect, write });
  output.refresh();
  await output.settled();
  await output.stop();
  await output.stop();
});

test("what was written is read back as the certificate of an earlier run", async () => {
  const content = await newOutputFiles();
  await writeOutput(at(), content, modes);
  const saved = await readSaved(at(), [SPIFFE_ID], Date.now());
  expect(saved).toMatchObject({ source: "saved", chainPem: content.get(CHAIN_FILE)?.toString() });
  expect(saved?.keyPem.reveal()).toBe(content.get(KEY_FILE)?.toString());
});

test("plain files of an earlier release are read back too", async () => {
  for (const [name, bytes] of await newOutputFiles()) await writeFile(at(name), bytes);
  await expect(readSaved(at(), [SPIFFE_ID], Date.now())).resolves.toBeDefined();
});

/** What is not given is as in a good set. */
async function writePair({ cert, key }: { readonly cert?: string; readonly key: string }): Promise<void> {
  const content = new Map(await newOutputFiles()).set(KEY_FILE, Buffer.from(key));
  if (cert !== undefined) content.set(CHAIN_FILE, Buffer.from(cert));
  await writeOutput(at(), content, modes);
}

test.each([
  { what: "nothing was written", prepare: async () => undefined },
  {
    what: "the key is of another pair",
    prepare: async () => writePair({ key: (await outputCa.pair(["x"])).key }),
  },
  {
    what: "the certificate has expired",
    prepare: async () => writePair(await outputCa.pair([SPIFFE_ID], validFor(-1000))),
  },
  {
    what: "the certificate is of another workload",
    prepare: async () => writePair(await outputCa.pair(["spiffe://other/ns/a/sa/b"])),
  },
  { what: "the directory is a dangling link", prepare: async () => symlink("nowhere", at("..data")) },
  { what: "a file is garbage", prepare: async () => writeFile(at(KEY_FILE), "garbage") },
])("nothing is read back when $what", async ({ prepare }) => {
  await prepare();
  await expect(readSaved(at(), [SPIFFE_ID], Date.now())).resolves.toBeUndefined();
});
