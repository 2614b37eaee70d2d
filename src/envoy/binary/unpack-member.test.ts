import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildZip } from "../../../test/support/envoy/build-zip.ts";
import { ArchiveError, unpackMember } from "./unpack-member.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-zip-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

let unpacked = 0;
async function unpack(archive: Buffer, name = "a/b"): Promise<Buffer> {
  unpacked += 1;
  const path = join(folder, "archive.zip");
  // A target of its own each time: a write that failed may still be creating its file.
  const target = join(folder, `out-${unpacked}`);
  writeFileSync(path, archive);
  await unpackMember(path, name, target);
  return readFileSync(target);
}

test.each([true, false])("a member is unpacked whole (stored: %s) and progress ends at its size", async (stored) => {
  const data = Buffer.from("envoy ".repeat(100_000));
  const path = join(folder, "archive.zip");
  writeFileSync(
    path,
    buildZip([
      { name: "x", data: Buffer.from("other") },
      { name: "a/b", data, stored },
    ]),
  );
  const seen: number[] = [];
  await unpackMember(path, "a/b", join(folder, "out"), (bytes, total) => {
    seen.push(bytes);
    expect(total).toBe(data.length);
  });
  expect(readFileSync(join(folder, "out")).equals(data)).toBe(true);
  expect(seen.at(-1)).toBe(data.length);
});

test("a missing member is named", async () => {
  await expect(unpack(buildZip([]), "gone")).rejects.toMatchObject({ code: "member-missing", message: /gone/ });
});

test("a file that is not an archive is refused", async () => {
  await expect(unpack(Buffer.from("not a zip"))).rejects.toMatchObject({ code: "not-an-archive" });
});

test("an empty member is refused", async () => {
  await expect(unpack(buildZip([{ name: "a/b", data: Buffer.alloc(0), stored: true }]))).rejects.toMatchObject({
    code: "corrupt",
  });
  const archive = buildZip([{ name: "a/b", data: Buffer.from("hello hello hello") }]);
  // The packed size in the directory, which comes after the local header and the data.
  const directory = archive.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]));
  archive.writeUInt32LE(0, directory + 20);
  await expect(unpack(archive)).rejects.toMatchObject({ code: "corrupt", message: /a\/b is empty/ });
});

test("an archive damaged anywhere gives the member, or an error, and never hangs", async () => {
  const archive = buildZip([{ name: "a/b", data: Buffer.from("hello hello hello") }]);
  await fc.assert(
    fc.asyncProperty(fc.nat(archive.length - 1), fc.nat(255), async (at, byte) => {
      const damaged = Buffer.from(archive);
      damaged[at] = byte;
      await unpack(damaged).catch((thrown: unknown) => {
        expect(thrown).toBeInstanceOf(ArchiveError);
      });
    }),
    { numRuns: 500 },
  );
});
