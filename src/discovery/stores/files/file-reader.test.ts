import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serviceEntry } from "../../../../test/support/discovery/objects.ts";
import { MAX_FILE_BYTES } from "../../../files/read-file.ts";
import { DIRECT_PARSER } from "../../parse/config-parser.ts";
import { createFileReader, type FileReader, type ReadFile } from "./file-reader.ts";
import type { FoundFile } from "./list-files.ts";

let folder: string;
let path: string;
let reader: FileReader;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "file-reader-"));
  path = join(folder, "mesh.yaml");
  reader = createFileReader("default", DIRECT_PARSER);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const entry = (name: string) => JSON.stringify(serviceEntry(name));
const OLD = new Date(Date.now() - 60_000);

function find(): FoundFile {
  const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
  return { path, size, mtimeMs, signature: [dev, ino, size, mtimeMs, ctimeMs].join(":") };
}

/** Writes the file as if it had lain there for a while. */
function put(...documents: readonly string[]): void {
  writeFileSync(path, documents.join("\n---\n"));
  utimesSync(path, OLD, OLD);
}

/** One round of looking at this file. */
async function round(): Promise<ReadFile | undefined> {
  const [file] = await reader.read([find()]);
  reader.endRound();
  return file;
}

const namesOf = (file: ReadFile | undefined) => file?.documents.map(({ result }) => result.object?.name);

describe("a file that did not change", () => {
  test("is not read again", async () => {
    put(entry("a"));
    const first = await round();
    expect(namesOf(first)).toEqual(["a"]);
    expect(await round()).toBe(first);
  });

  test("is read again while it is so young that its time could hide a change", async () => {
    writeFileSync(path, entry("a"));
    const first = await round();
    const second = await round();
    expect(second).not.toBe(first);
    expect(second?.documents[0]?.result).toBe(first?.documents[0]?.result);
  });

  test("is read again when a round did not see it", async () => {
    put(entry("a"));
    const first = await round();
    reader.endRound();
    expect(await round()).not.toBe(first);
  });
});

describe("a file that changed", () => {
  test("keeps what its documents meant where their text is the same", async () => {
    put(entry("a"), entry("b"));
    const before = await round();
    put(entry("b"), entry("c"));
    const after = await round();
    expect(namesOf(after)).toEqual(["b", "c"]);
    // The last document of a text has no line end, so that only its meaning is compared.
    expect(after?.documents[0]?.result.object).toEqual(before?.documents[1]?.result.object);
  });

  test("has the objects of its good documents, regardless of the others", async () => {
    put(entry("a"), "kind: [", entry("c"));
    expect(namesOf(await round())).toEqual(["a", undefined, "c"]);
  });

  test("that is gone is not a file", async () => {
    put(entry("a"));
    const found = find();
    rmSync(path);
    expect(await reader.read([found])).toEqual([]);
  });
});

describe("a file that is being written", () => {
  test("and was emptied a moment ago stays as it was, until it stays empty", async () => {
    put(entry("a"));
    const before = await round();
    truncateSync(path);
    expect(await round()).toBe(before);
    utimesSync(path, OLD, OLD);
    expect(namesOf(await round())).toEqual([]);
  });

  test("and grew since it was listed stays as it was", async () => {
    put(entry("a"));
    const before = await round();
    put(entry("a"), entry("b"));
    const listed = find();
    appendFileSync(path, `\n---\n${entry("c")}`);
    expect((await reader.read([listed]))[0]).toBe(before);
    reader.endRound();
    expect(namesOf(await round())).toEqual(["a", "b", "c"]);
  });

  test("for the first time is taken as it is: there is nothing to keep", async () => {
    writeFileSync(path, "");
    expect(namesOf(await round())).toEqual([]);
  });
});

describe("a file that cannot be read", () => {
  test("is a failure with its reason, tried again each round", async () => {
    mkdirSync(path);
    const failed = await round();
    expect(failed).toMatchObject({ path, documents: [], failure: `read ${path}: is a directory` });
    rmSync(path, { recursive: true });
    put(entry("a"));
    expect(namesOf(await round())).toEqual(["a"]);
  });

  test("for its size is a failure that says how large it may be", async () => {
    put(entry("a"));
    truncateSync(path, MAX_FILE_BYTES + 1);
    expect((await round())?.failure).toBe(`read ${path}: larger than ${MAX_FILE_BYTES} bytes`);
  });
});

test("objects without a namespace are of the reader's", async () => {
  put(JSON.stringify({ ...serviceEntry("a"), metadata: { name: "a" } }));
  reader = createFileReader("shop", DIRECT_PARSER);
  expect((await round())?.documents[0]?.result.object?.namespace).toBe("shop");
});

test("a file that is not UTF-8 text is refused as a whole: what stands for its bytes is not what was meant", async () => {
  put(entry("a"), "# caf\u00e9");
  expect(namesOf(await round())).toEqual(["a"]);
  writeFileSync(path, `${entry("a")}\n# caf\u00e9`, "latin1");
  utimesSync(path, OLD, OLD);
  expect(await round()).toMatchObject({ documents: [], failure: "file is not UTF-8 text" });
});

describe("several files", () => {
  const paths = ["a.yaml", "b.yaml", "c.yaml"].map((name) => () => join(folder, name));
  const putAll = (texts: readonly string[]) =>
    texts.map((text, at) => {
      path = paths[at]?.() ?? "";
      put(text);
      return find();
    });

  test("are reported in their order, whichever is read first, without those that are gone", async () => {
    const found = putAll([`# ${"long".repeat(500_000)}\n${entry("a")}`, entry("b"), entry("c")]);
    rmSync(join(folder, "b.yaml"));
    const files = await reader.read(found);
    expect(files.map(namesOf)).toEqual([["a"], ["c"]]);
  });

  test("that are the largest allowed are read one at a time", async () => {
    const found = putAll([entry("a"), entry("b"), entry("c")]);
    const large = found.map((file) => ({ ...file, size: MAX_FILE_BYTES }));
    expect((await reader.read(large)).map(namesOf)).toEqual([["a"], ["b"], ["c"]]);
  });
});

test("of a file its meaning is retained, not its text", async () => {
  put(`# a remark\n${entry("a")}`);
  expect(JSON.stringify(await round())).not.toContain("a remark");
});
