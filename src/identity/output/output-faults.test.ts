import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, readlink, rm, rmdir, symlink, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { SPIFFE_ID } from "../../../test/support/certs/test-ca.ts";
import { newOutputFiles, useOutputDirectory } from "../../../test/support/files/sds-output.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { until } from "../../../test/support/wait/until.ts";
import { readSaved } from "../open-rotation.ts";
import { CHAIN_FILE, KEY_FILE, ROOT_FILE } from "./output-version.ts";
import { outputModes, startOutput, writeOutput } from "./start-output.ts";

const at = useOutputDirectory();
const modes = outputModes(false);
const versions = async () => (await readdir(at())).filter((entry) => entry.startsWith("..certs-"));

describe("a directory that resists", () => {
  test("does not fill with keys that could not be shown", async () => {
    await mkdir(at("..data", "in the way"), { recursive: true });
    const content = await newOutputFiles();
    for (let round = 0; round < 3; round += 1) await expect(writeOutput(at(), content, modes)).rejects.toThrow();
    expect(await versions()).toEqual([]);
    expect(await readdir(at())).toEqual(["..data"]);
  });

  test("gets the missing links with the next try", async () => {
    const content = await newOutputFiles();
    await mkdir(at(CHAIN_FILE));
    await expect(writeOutput(at(), content, modes)).rejects.toThrow();
    await rmdir(at(CHAIN_FILE));
    await expect(writeOutput(at(), content, modes)).resolves.toBe(false);
    for (const [name, bytes] of content) expect(await readFile(at(name))).toEqual(bytes);
  });

  test("gets back a name that someone removed", async () => {
    const content = await newOutputFiles();
    await writeOutput(at(), content, modes);
    await rm(at(KEY_FILE));
    await writeOutput(at(), content, modes);
    expect(await readFile(at(KEY_FILE))).toEqual(content.get(KEY_FILE));
  });

  test("loses the drafts of a run that was killed, and nothing that only looks like one", async () => {
    const drafts = ["..data.tmp.0123456789ab", `${KEY_FILE}.tmp.0123456789ab`];
    for (const draft of drafts) await symlink("..certs-gone", at(draft));
    await mkdir(at("..certs-0123456789ab"));
    await writeFile(at("mine.tmp.0123456789ab"), "mine");
    await writeOutput(at(), await newOutputFiles(), modes);
    const entries = await readdir(at());
    for (const gone of [...drafts, "..certs-0123456789ab"]) expect(entries).not.toContain(gone);
    expect(entries).toContain("mine.tmp.0123456789ab");
  });

  test("with a pipe for a key neither holds up the start nor is taken for a certificate", async () => {
    const content = await newOutputFiles();
    await writeFile(at(CHAIN_FILE), content.get(CHAIN_FILE) ?? "");
    await writeFile(at(ROOT_FILE), content.get(ROOT_FILE) ?? "");
    execFileSync("mkfifo", [at(KEY_FILE)]);
    await expect(readSaved(at(), [SPIFFE_ID], Date.now())).resolves.toBeUndefined();
  });
});

describe("parts", () => {
  test("that are not given keep what they show", async () => {
    const content = await newOutputFiles();
    await writeOutput(at(), content, modes);
    const root = Buffer.from("another root\n");
    await expect(writeOutput(at(), new Map([[ROOT_FILE, root]]), modes)).resolves.toBe(true);
    expect(await readFile(at(ROOT_FILE))).toEqual(root);
    expect(await readFile(at(KEY_FILE))).toEqual(content.get(KEY_FILE));
    expect(await readFile(at(CHAIN_FILE))).toEqual(content.get(CHAIN_FILE));
  });

  test("that were never there do not appear as links to nothing", async () => {
    await writeOutput(at(), new Map([[ROOT_FILE, Buffer.from("root\n")]]), modes);
    await expect(readlink(at(KEY_FILE))).rejects.toThrow("ENOENT");
  });
});

test("news that come the moment a write has settled are written too", async () => {
  const first = await newOutputFiles();
  const second = await newOutputFiles();
  let content = first;
  const collect = async () => content;
  const output = startOutput({ directory: at(), readableByAll: false, log: recordLog(), collect });
  output.refresh();
  // Runs right after the writer has reported that it is done, before anything else.
  await output.settled().then(() => {
    content = second;
    output.refresh();
  });
  await until("the second key is written", async () =>
    (await readFile(at(KEY_FILE))).equals(second.get(KEY_FILE) ?? Buffer.of()),
  );
  await output.stop();
});
