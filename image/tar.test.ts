import fc from "fast-check";
import { expect, test } from "vitest";
import { runProgram } from "../src/process/run-program.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { type TarEntry, tarPieces } from "./tar.ts";

const archive = (entries: readonly TarEntry[], mtimeSeconds = 0) =>
  Buffer.concat([...tarPieces(entries, mtimeSeconds)]);

test("the system's tar reads names, owners, modes, links and contents", async () => {
  using folder = temporaryFolder();
  const long = `${"folder/".repeat(20)}${"n".repeat(90)}`;
  const path = folder.write(
    "test.tar",
    archive([
      { path: "home", type: "directory", mode: 0o1777, uid: 1337, gid: 1337 },
      { path: "home/text", type: "file", mode: 0o644, content: Buffer.from("hello") },
      { path: "home/link", type: "symlink", mode: 0o777, target: "text" },
      { path: long, type: "file", mode: 0o755, content: Buffer.alloc(0) },
    ]),
  );
  const { stdout } = await runProgram("tar", ["--numeric-owner", "--utc", "-tvf", path]);
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/\s+/));
  expect(lines.map(([mode, owner, size, day, , ...name]) => [mode, owner, size, day, name.join(" ")])).toEqual([
    ["drwxrwxrwt", "1337/1337", "0", "1970-01-01", "home/"],
    ["-rw-r--r--", "0/0", "5", "1970-01-01", "home/text"],
    ["lrwxrwxrwx", "0/0", "0", "1970-01-01", "home/link -> text"],
    ["-rwxr-xr-x", "0/0", "0", "1970-01-01", long],
  ]);
  expect((await runProgram("tar", ["-xOf", path, "home/text"])).stdout).toBe("hello");
});

test("a name that the format cannot hold is refused with the name", () => {
  const path = "n".repeat(101);
  expect(() => archive([{ path, type: "file", mode: 0o644 }])).toThrow(path);
});

test("archives are whole blocks, regardless of the size of the contents", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 1100 }), { maxLength: 5 }), (contents) => {
      const entries = contents.map((content, at): TarEntry => {
        return { path: `f${at}`, type: "file", mode: 0o644, content: Buffer.from(content) };
      });
      return archive(entries).length % 512 === 0;
    }),
  );
});
