import { chmod, mkdir, rename, rm, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestCa } from "../../../test/support/certs/test-ca.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { until } from "../../../test/support/wait/until.ts";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { FileWatch } from "../../files/watch/watch-files.ts";
import { declareIdentityMetrics } from "../metrics.ts";
import { readKeyPairFiles } from "./key-pair-file.ts";
import { readCertificateFile } from "./read-file.ts";
import { watchContent } from "./watch-content.ts";

const ca = await createTestCa();
const metrics = declareIdentityMetrics(new MetricRegistry());
let directory: TemporaryFolder;
let open: FileWatch[] = [];

beforeEach(async () => {
  directory = temporaryFolder();
});
afterEach(async () => {
  for (const watch of open) await watch.stop();
  open = [];
  await directory[Symbol.asyncDispose]();
});

const at = (...parts: string[]) => join(directory.path, ...parts);

/** Watches one file by its bytes and collects what it held at each report. */
async function watchText(path: string): Promise<string[]> {
  const seen: string[] = [];
  let text = "";
  const version = async () => {
    const content = (await readCertificateFile(path)).toString();
    if (content === "") throw new Error("a write in place has only begun");
    text = content;
    return text;
  };
  const log = silentLogger;
  open.push(
    await watchContent({ paths: [path], debounceMs: 20, log, metrics, version, onChange: () => seen.push(text) }),
  );
  return seen;
}

/** After this a report that was going to come has come: the marker change is reported after everything before it. */
async function settle(path: string, seen: string[]): Promise<void> {
  await writeFile(path, "marker");
  await until("the marker is reported", () => seen.at(-1) === "marker");
}

test("an in-place rewrite is reported once", async () => {
  await writeFile(at("c"), "one");
  const seen = await watchText(at("c"));
  await writeFile(at("c"), "two");
  await until("two is reported", () => seen.includes("two"));
  await settle(at("c"), seen);
  expect(seen).toEqual(["two", "marker"]);
});

test("a rename over the file is reported, and so is the next one", async () => {
  await writeFile(at("c"), "one");
  const seen = await watchText(at("c"));
  for (const text of ["two", "three"]) {
    await writeFile(at("new"), text);
    await rename(at("new"), at("c"));
    await until(`${text} is reported`, () => seen.at(-1) === text);
  }
  expect(seen).toEqual(["two", "three"]);
});

test("equal bytes, a new time stamp and new permissions are not reported", async () => {
  await writeFile(at("c"), "one");
  const seen = await watchText(at("c"));
  await writeFile(at("c"), "one");
  await utimes(at("c"), 1, 1);
  await chmod(at("c"), 0o600);
  await settle(at("c"), seen);
  expect(seen).toEqual(["marker"]);
});

test("the swap of a Kubernetes volume is reported once", async () => {
  await mkdir(at("..v1"));
  await writeFile(at("..v1", "c"), "one");
  await symlink("..v1", at("..data"));
  await symlink("..data/c", at("c"));
  const seen = await watchText(at("c"));
  await mkdir(at("..v2"));
  await writeFile(at("..v2", "c"), "two");
  await symlink("..v2", at("..data_tmp"));
  await rename(at("..data_tmp"), at("..data"));
  await rm(at("..v1"), { recursive: true });
  await until("two is reported", () => seen.includes("two"));
  await settle(at("..v2", "c"), seen);
  expect(seen).toEqual(["two", "marker"]);
});

test("a link three levels above the file that gets another target is reported, and the new target is followed", async () => {
  for (const version of ["v1", "v2"]) {
    await mkdir(at(version, "x", "y"), { recursive: true });
    await writeFile(at(version, "x", "y", "c"), version);
  }
  await symlink("v1", at("current"));
  const seen = await watchText(at("current", "x", "y", "c"));
  await symlink("v2", at("next"));
  await rename(at("next"), at("current"));
  await until("v2 is reported", () => seen.at(-1) === "v2");
  await writeFile(at("v2", "x", "y", "c"), "v2 again");
  await until("the new target is followed", () => seen.at(-1) === "v2 again");
});

test("a replaced directory is reported and followed", async () => {
  await mkdir(at("d"));
  await writeFile(at("d", "c"), "one");
  const seen = await watchText(at("d", "c"));
  await mkdir(at("n"));
  await writeFile(at("n", "c"), "two");
  await rename(at("d"), at("old"));
  await rename(at("n"), at("d"));
  await until("two is reported", () => seen.at(-1) === "two");
  await writeFile(at("d", "c"), "three");
  await until("three is reported", () => seen.at(-1) === "three");
});

test("a file whose directories appear later is reported when it is there", async () => {
  const seen = await watchText(at("a", "b", "c"));
  await mkdir(at("a"));
  await mkdir(at("a", "b"));
  await writeFile(at("a", "b", "c"), "one");
  await until("one is reported", () => seen.at(-1) === "one");
});

test("a deleted file is reported, and its return as well", async () => {
  await writeFile(at("c"), "one");
  const seen = await watchText(at("c"));
  await unlink(at("c"));
  await until("the deletion is reported", () => seen.length === 1);
  await writeFile(at("c"), "two");
  await until("two is reported", () => seen.at(-1) === "two");
});

test("a link loop and a path through a file are neither found nor followed for ever", async () => {
  await symlink("b", at("a"));
  await symlink("a", at("b"));
  await writeFile(at("file"), "x");
  expect(await watchText(at("a", "c"))).toEqual([]);
  expect(await watchText(at("file", "c"))).toEqual([]);
});

test("a new key beside the old certificate is passed over until the certificate fits", async () => {
  const [first, second] = [await ca.pair(["a.test"]), await ca.pair(["a.test"])];
  await writeFile(at("cert"), first.cert);
  await writeFile(at("key"), first.key);
  const reports = { changes: 0, mismatches: 0 };
  const version = async () => {
    try {
      return (await readKeyPairFiles(at("cert"), at("key"))).certificate.toString();
    } catch (thrown) {
      reports.mismatches += 1;
      throw thrown;
    }
  };
  const paths = [at("cert"), at("key")];
  const onChange = () => {
    reports.changes += 1;
  };
  open.push(await watchContent({ paths, debounceMs: 1, log: silentLogger, metrics, version, onChange }));
  await writeFile(at("key"), second.key);
  await until("the half-written pair has been looked at", () => reports.mismatches > 0);
  expect(reports.changes).toBe(0);
  await writeFile(at("cert"), second.cert);
  await until("the new pair is reported", () => reports.changes === 1);
});

test("a key-only change to another key of the same certificate's issuer is a new pair", async () => {
  const pair = await ca.pair(["a.test"]);
  await writeFile(at("cert"), pair.cert);
  await writeFile(at("key"), pair.key);
  let changes = 0;
  const version = async () => {
    const { certificate, key } = await readKeyPairFiles(at("cert"), at("key"));
    return certificate.toString() + key.toString();
  };
  const paths = [at("cert"), at("key")];
  const onChange = () => {
    changes += 1;
  };
  open.push(await watchContent({ paths, debounceMs: 1, log: silentLogger, metrics, version, onChange }));
  await writeFile(at("key"), `${pair.key}\n`); // the same key in other bytes: the certificate file stays
  await until("the key's change is reported", () => changes === 1);
});

test("a directory that is removed and made again is followed on, regardless of the number the file system gives it", async () => {
  await mkdir(at("d"));
  await writeFile(at("d", "c"), "one");
  const seen = await watchText(at("d", "c"));
  for (const text of ["two", "three"]) {
    await rm(at("d"), { recursive: true });
    await mkdir(at("d"));
    await writeFile(at("d", "c"), text);
    await until(`${text} is reported`, () => seen.at(-1) === text);
    await writeFile(at("d", "c"), `${text}, rewritten`);
    await until(`the rewritten ${text} is reported`, () => seen.at(-1) === `${text}, rewritten`);
  }
});
