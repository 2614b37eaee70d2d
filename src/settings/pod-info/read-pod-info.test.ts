import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { memoryFiles } from "../../../test/support/settings/memory-files.ts";
import { fileErrorText } from "../../files/read-file.ts";
import { diskFiles } from "../config-files.ts";
import { generationRules } from "../generations.ts";
import { ANNOTATIONS_PATH, readAnnotations } from "./read-pod-info.ts";

const master = generationRules("master");

test("annotations are read with their quotes undone", async () => {
  const text =
    'foo="bar"\nconfig="foo: bar\\nother: setting"\nequals="a=b"\na1_-.as1="x"\nno separator\n="empty key"\n';
  const log = recordLog();
  const lines = log.printed;
  const annotations = await readAnnotations(memoryFiles({ [ANNOTATIONS_PATH]: text }), master, log);
  expect(Object.fromEntries(annotations)).toEqual({
    foo: "bar",
    config: "foo: bar\nother: setting",
    equals: "a=b",
    "a1_-.as1": "x",
    "": "empty key",
  });
  expect(lines).toEqual([]);
});

test("a bad line is reported with its number and the others still count", async () => {
  const log = recordLog();
  const lines = log.printed;
  const annotations = await readAnnotations(
    memoryFiles({ [ANNOTATIONS_PATH]: 'a="1"\nb=unquoted\nc="3"' }),
    master,
    log,
  );
  expect(Object.fromEntries(annotations)).toEqual({ a: "1", c: "3" });
  expect(lines).toEqual([
    "warn failed to read pod annotations: failed to unquote unquoted: invalid syntax (./etc/istio/pod/annotations line 2, ignored)",
  ]);
});

test.each([
  { generation: "master", level: "debug" },
  { generation: "1.7", level: "warn" },
] as const)("a missing file is $level on $generation", async ({ generation, level }) => {
  const log = recordLog();
  const lines = log.printed;
  expect((await readAnnotations(memoryFiles({}), generationRules(generation), log)).size).toBe(0);
  expect(lines).toEqual([
    `${level} failed to read pod annotations: open ./etc/istio/pod/annotations: no such file or directory`,
  ]);
});

test("an unreadable file warns and the start goes on", async () => {
  const log = recordLog();
  const lines = log.printed;
  const denied = Object.assign(new Error("x"), { code: "EACCES" });
  expect((await readAnnotations(memoryFiles({ [ANNOTATIONS_PATH]: denied }), master, log)).size).toBe(0);
  expect(lines).toEqual(["warn failed to read pod annotations: open ./etc/istio/pod/annotations: permission denied"]);
});

test("a directory in place of a file is reported as such", async () => {
  const directory = await mkdtemp(join(tmpdir(), "config-"));
  try {
    const thrown = await diskFiles.read(directory).catch((error: unknown) => error);
    expect(fileErrorText(directory, thrown)).toBe(`read ${directory}: is a directory`);
  } finally {
    await rm(directory, { recursive: true });
  }
});
