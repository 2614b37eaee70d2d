import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../../test/support/wait/until.ts";
import { silentLogger } from "../../base/logger.ts";
import { hashFiles, watchContents } from "./watch-contents.ts";

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  const write = (name: string, content: string) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  return { folder, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

test("the first hash comes at once, and several changes within the delay make one more", async () => {
  using t = setUp();
  const file = t.write("cert.pem", "a");
  const sent: { hash: string; at: number }[] = [];
  const onChange = (hash: string) => void sent.push({ hash, at: performance.now() });
  await using _watcher = watchContents({ files: [file], onChange, log: silentLogger, settleMs: 200 });
  expect(sent.map((call) => call.hash)).toEqual([hashFiles([file])]);
  const changedAt = performance.now();
  for (const content of ["b", "c", "d"]) t.write("cert.pem", content);
  await until("the change", () => sent.length === 2);
  // Not before the delay; a machine that stands still only adds to it.
  expect((sent[1]?.at ?? 0) - changedAt).toBeGreaterThanOrEqual(195);
  expect(sent[1]?.hash).toBe(hashFiles([file]));
  rmSync(file);
  await until("the deletion", () => sent.length === 3);
  expect(sent[2]?.hash).toBe(hashFiles([]));
});

test("writing the same content again is not a change", async () => {
  using t = setUp();
  const [file, marker] = [t.write("cert.pem", "a"), t.write("marker.pem", "a")];
  const [sent, looked]: [string[], string[]] = [[], []];
  const watch = (path: string, hashes: string[]) =>
    watchContents({ files: [path], onChange: (hash) => void hashes.push(hash), log: silentLogger, settleMs: 20 });
  await using _watcher = watch(file, sent);
  // A second watcher of the same folder tells that the delay is over.
  await using _clock = watch(marker, looked);
  t.write("cert.pem", "a");
  t.write("marker.pem", "b");
  await until("the marker's change", () => looked.length === 2);
  t.write("cert.pem", "b");
  await until("the change", () => sent.length > 1);
  expect(sent).toEqual([sent[0], hashFiles([file])]);
});

test("a secret that is swapped by its links is seen", async () => {
  using t = setUp();
  for (const version of ["v1", "v2"]) {
    mkdirSync(join(t.folder, version));
    writeFileSync(join(t.folder, version, "cert.pem"), version);
  }
  symlinkSync("v1", join(t.folder, "..data"));
  symlinkSync("..data/cert.pem", join(t.folder, "cert.pem"));
  const sent: string[] = [];
  await using _watcher = watchContents({
    files: [join(t.folder, "cert.pem")],
    onChange: (hash) => void sent.push(hash),
    log: silentLogger,
    settleMs: 20,
  });
  symlinkSync("v2", join(t.folder, "..next"));
  renameSync(join(t.folder, "..next"), join(t.folder, "..data"));
  await until("the swap", () => sent.length === 2);
  expect(sent[0]).not.toBe(sent[1]);
});

test("a folder that is missing at first is followed, and costs no other file", async () => {
  using t = setUp();
  const file = t.write("cert.pem", "a");
  const sent: string[] = [];
  const files = [join(t.folder, "later", "key.pem"), file];
  await using _watcher = watchContents({
    files,
    onChange: (hash) => void sent.push(hash),
    log: silentLogger,
    settleMs: 20,
  });
  t.write("cert.pem", "b");
  await until("the change", () => sent.length === 2);
  mkdirSync(join(t.folder, "later"));
  t.write("later/key.pem", "k");
  await until("the new file", () => sent.at(-1) === hashFiles(files) && sent.length > 2);
});

test("no files: one constant hash and no watch", async () => {
  const sent: string[] = [];
  const watcher = watchContents({ files: [], onChange: (hash) => void sent.push(hash), log: silentLogger });
  expect(sent).toEqual([hashFiles([])]);
  await watcher.stop();
  await watcher.stop();
});

test("a missing file in the list does not change the hash", () => {
  using t = setUp();
  const file = t.write("cert.pem", "a");
  expect(hashFiles([file, "/no/such/file"])).toBe(hashFiles([file]));
});
