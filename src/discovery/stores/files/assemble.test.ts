import { describe, expect, test } from "vitest";
import { serviceEntry } from "../../../../test/support/discovery/objects.ts";
import { splitDocuments } from "../../../files/yaml/split-documents.ts";
import { readDocument } from "../../../istio-api/decode/parse-config-text.ts";
import { type Assembled, assemble, NOTHING } from "../start-file-store.ts";
import type { ReadFile } from "./file-reader.ts";

const entry = (name: string, spec: object = {}) => JSON.stringify(serviceEntry(name, spec));

/** A file as its reader gives it. */
function file(path: string, ...texts: readonly string[]): ReadFile {
  const documents = splitDocuments(texts.join("\n---\n")).map(({ text, linesBefore }) => ({
    digest: text,
    linesBefore,
    line: linesBefore + 1,
    result: readDocument(text, { defaultNamespace: "default" }),
  }));
  return { path, mtimeMs: 1000.7, documents };
}

const unreadable = (path: string): ReadFile => ({ path, mtimeMs: 1, documents: [], failure: "EACCES: no" });

const names = ({ objects }: Assembled) => [...objects.values()].map(({ name }) => name).sort();
const messages = ({ problems }: Assembled) => problems.map(({ file, line, message }) => `${file}:${line}: ${message}`);
const addressOf = ({ objects }: Assembled, name: string) =>
  (objects.get(`ServiceEntry/prod/${name}`)?.spec as { addresses?: readonly string[] } | undefined)?.addresses?.[0];

const BROKEN_YAML = "kind: [ServiceEntry";
const REFUSED = JSON.stringify(serviceEntry("a", { ports: [{ number: 0, name: "x" }] }));

test("objects of all files come together, each with the file it is from", () => {
  const assembled = assemble([file("a.yaml", entry("a"), entry("b")), file("c.yaml", entry("c"))], NOTHING);
  expect(names(assembled)).toEqual(["a", "b", "c"]);
  expect(assembled.origins.get("ServiceEntry/prod/c")).toEqual({ file: "c.yaml", line: 1 });
  expect(assembled.problems).toEqual([]);
});

test("of two objects of one name the first file's counts, and the other is reported", () => {
  const first = file("a.yaml", entry("a", { addresses: ["10.0.0.1"] }));
  const second = file("b.yaml", entry("x"), entry("a", { addresses: ["10.0.0.2"] }));
  const assembled = assemble([first, second], NOTHING);
  expect(addressOf(assembled, "a")).toBe("10.0.0.1");
  // A document begins with its separator.
  expect(messages(assembled)).toEqual(["b.yaml:2: ServiceEntry prod/a is also in a.yaml, which is used"]);
});

test("a problem is reported with its place in the whole file", () => {
  const assembled = assemble([file("a.yaml", entry("x"), entry("y"), BROKEN_YAML)], NOTHING);
  expect(messages(assembled)).toEqual([expect.stringMatching(/^a\.yaml:5: /)]);
});

describe("an object without a creation time", () => {
  test("is as old as its file, in whole milliseconds", () => {
    const { objects } = assemble([file("a.yaml", entry("a"))], NOTHING);
    expect(objects.get("ServiceEntry/prod/a")?.creationTime).toBe(1000);
  });

  test("keeps its age when its file is written again", () => {
    const before = assemble([file("a.yaml", entry("a"))], NOTHING);
    const later = { ...file("a.yaml", entry("a", { addresses: ["10.0.0.9"] })), mtimeMs: 99_999 };
    const { objects } = assemble([later], before);
    expect(objects.get("ServiceEntry/prod/a")?.creationTime).toBe(1000);
  });

  test("is left alone when it has one", () => {
    const dated = serviceEntry("a");
    dated.metadata = { ...(dated.metadata as object), creationTimestamp: "2026-01-01T00:00:00Z" };
    const { objects } = assemble([file("a.yaml", JSON.stringify(dated))], NOTHING);
    expect(objects.get("ServiceEntry/prod/a")?.creationTime).toBe(Date.parse("2026-01-01T00:00:00Z"));
  });
});

describe("what went bad", () => {
  const before = assemble([file("a.yaml", entry("a"), entry("b")), file("c.yaml", entry("c"))], NOTHING);

  test.each([
    { name: "a document that names its object keeps that one", files: [file("a.yaml", REFUSED)], stays: ["a"] },
    {
      name: "a document that cannot be read at all keeps every object of its file",
      files: [file("a.yaml", BROKEN_YAML)],
      stays: ["a", "b"],
    },
    { name: "a file that cannot be read keeps every object of it", files: [unreadable("a.yaml")], stays: ["a", "b"] },
    { name: "an empty file takes its objects away", files: [file("a.yaml", "")], stays: [] },
    { name: "a file that is gone takes its objects away", files: [], stays: [] },
    {
      name: "a document of a kind that no one reads keeps nothing",
      files: [file("a.yaml", JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }))],
      stays: [],
    },
  ])("$name", ({ files, stays }) => {
    const now = assemble([...files, file("c.yaml", entry("c"))], before);
    expect(names(now)).toEqual([...stays, "c"]);
    for (const name of stays) expect(now.origins.get(`ServiceEntry/prod/${name}`)?.file).toBe("a.yaml");
  });

  test("stays over any number of bad rounds, and goes when the document is good again", () => {
    let now = before;
    for (let round = 0; round < 3; round += 1) now = assemble([file("a.yaml", BROKEN_YAML)], now);
    expect(names(now)).toEqual(["a", "b"]);
    now = assemble([file("a.yaml", entry("b"))], now);
    expect(names(now)).toEqual(["b"]);
  });

  test("a directory that cannot be entered stands for all files below it, and no others", () => {
    const tree = assemble([file("dir/a.yaml", entry("a")), file("dir2/b.yaml", entry("b"))], NOTHING);
    expect(names(assemble([unreadable("dir")], tree))).toEqual(["a"]);
  });

  test("an object that another file has by now is that file's", () => {
    const now = assemble([unreadable("a.yaml"), file("z.yaml", entry("a", { addresses: ["10.0.0.7"] }))], before);
    expect(addressOf(now, "a")).toBe("10.0.0.7");
    expect(now.origins.get("ServiceEntry/prod/a")?.file).toBe("z.yaml");
  });

  test("a document that was never good keeps nothing", () => {
    expect(names(assemble([file("new.yaml", REFUSED)], NOTHING))).toEqual([]);
  });
});
