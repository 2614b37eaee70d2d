import fc from "fast-check";
import { expect, test } from "vitest";
import { memberBytes, memberList, withMember, withMembers } from "./edit-members.ts";
import { message, repeatedString, string, uint32 } from "./message.ts";
import { WireError } from "./wire-reader.ts";

const sample = message({ first: string(1), list: repeatedString(2), number: uint32(3), last: string(900) });
const bytes = sample.encode({ first: "a", list: ["x", "y"], number: 7, last: "z" });

test("a replaced member keeps its place and every other byte", () => {
  const edited = withMember(bytes, 1, Buffer.from("longer"));
  expect(sample.decode(edited)).toEqual({ first: "longer", list: ["x", "y"], number: 7, last: "z" });
  expect(withMember(edited, 1, Buffer.from("a")).equals(bytes)).toBe(true);
});

test("a member that was absent is added at the end", () => {
  const edited = withMember(bytes, 500, Buffer.from("new"));
  expect(edited.subarray(0, bytes.length).equals(bytes)).toBe(true);
  expect(memberBytes(edited, 500)?.toString()).toBe("new");
});

test("a member is taken away with all its occurrences", () => {
  expect(sample.decode(withMember(bytes, 2, undefined))).toEqual({ first: "a", list: [], number: 7, last: "z" });
});

test("a message sent in parts is read as one", () => {
  const parts = Buffer.concat([
    withMember(Buffer.alloc(0), 4, sample.encode({ first: "a" })),
    sample.encode({ number: 1 }),
    withMember(Buffer.alloc(0), 4, sample.encode({ number: 9 })),
  ]);
  expect(sample.decode(memberBytes(parts, 4) ?? Buffer.alloc(0))).toMatchObject({ first: "a", number: 9 });
  expect(memberList(parts, 4)).toHaveLength(2);
});

test("a field of the same number with another wire type stays", () => {
  expect(withMember(bytes, 3, undefined).equals(bytes)).toBe(true);
  expect(memberBytes(bytes, 3)).toBeUndefined();
});

test("whatever list is put in is read back, and the rest of the message does not change", () => {
  const values = fc.array(fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)));
  fc.assert(
    fc.property(values, values, (before, after) => {
      const message = withMembers(bytes, 77, before);
      const edited = withMembers(message, 77, after);
      expect(memberList(edited, 77)).toEqual(after);
      expect(withMembers(edited, 77, []).equals(bytes)).toBe(true);
    }),
  );
});

test("random bytes are edited or refused with a wire error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (input) => {
      try {
        withMember(Buffer.from(input), 1, Buffer.from("x"));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WireError);
      }
    }),
  );
});
