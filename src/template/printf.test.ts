import fc from "fast-check";
import { expect, test } from "vitest";
import { sprintf } from "./printf.ts";
import { GoEnum, GoStruct } from "./values.ts";

/** Results recorded from Go's fmt.Sprintf. */
const RECORDED: readonly (readonly [format: string, args: readonly unknown[], text: string])[] = [
  ["%v", [1], "1"],
  ["%v", [-42], "-42"],
  ["%v", [2.5], "2.5"],
  ["%v", [123456.789], "123456.789"],
  ["%v", [1.5e-7], "1.5e-07"],
  ["%v", [true], "true"],
  ["%v", [null], "<nil>"],
  ["%v", ["text"], "text"],
  ["%v", [[1, "a", null]], "[1 a <nil>]"],
  ["%v", [{ b: 1, a: "x" }], "map[a:x b:1]"],
  ["%+v", [5], "5"],
  ["%#v", ['a"b'], '"a\\"b"'],
  ["%s", ["abc"], "abc"],
  ["%s", [5], "%!s(int=5)"],
  ["%s", [true], "%!s(bool=true)"],
  ["%s", [null], "%!s(<nil>)"],
  ["%s", [["a", 1]], "[a %!s(int=1)]"],
  ["%10s|", ["abc"], "       abc|"],
  ["%-10s|", ["abc"], "abc       |"],
  ["%.2s|", ["héllo"], "hé|"],
  ["%q", ['a"b\n'], '"a\\"b\\n"'],
  ["%q", [65], "'A'"],
  ["%#q", ["abc"], "`abc`"],
  ["%#q", ["a`b"], '"a`b"'],
  ["%+q", ["é😀"], '"\\u00e9\\U0001f600"'],
  ["%x", ["hé"], "68c3a9"],
  ["%X", ["hi"], "6869"],
  ["% x", ["abc"], "61 62 63"],
  ["%#x", ["hi"], "0x6869"],
  ["%d", [42], "42"],
  ["%+d", [42], "+42"],
  ["%5d|", [42], "   42|"],
  ["%-5d|", [42], "42   |"],
  ["%05d|", [42], "00042|"],
  ["%05d|", [-42], "-0042|"],
  ["%.4d|", [42], "0042|"],
  ["%d", ["x"], "%!d(string=x)"],
  ["%d", [2.5], "%!d(float64=2.5)"],
  ["%d", [[1, "a"]], "[1 %!d(string=a)]"],
  ["%b", [5], "101"],
  ["%o", [8], "10"],
  ["%#o", [8], "010"],
  ["%x", [255], "ff"],
  ["%X", [255], "FF"],
  ["%#x", [255], "0xff"],
  ["%08b", [5], "00000101"],
  ["%c", [65], "A"],
  ["%c", [128512], "😀"],
  ["%U", [233], "U+00E9"],
  ["%t", [true], "true"],
  ["%t", ["x"], "%!t(string=x)"],
  ["%6t|", [false], " false|"],
  ["%f", [2.5], "2.500000"],
  ["%.0f", [2.5], "2"],
  ["%.0f", [3.5], "4"],
  ["%.0f", [0.5], "0"],
  ["%.2f", [3.25625], "3.26"],
  ["%8.2f|", [3.25625], "    3.26|"],
  ["%-8.2f|", [3.25625], "3.26    |"],
  ["%08.2f|", [-3.25625], "-0003.26|"],
  ["%+.1f", [2.5], "+2.5"],
  ["%e", [1234.5], "1.234500e+03"],
  ["%.2E", [0.00012], "1.20E-04"],
  ["%g", [100000.5], "100000.5"],
  ["%g", [1e-7], "1e-07"],
  ["%.3g", [1234.5678], "1.23e+03"],
  ["%G", [1e-7], "1E-07"],
  ["%T", [1], "int"],
  ["%T", [2.5], "float64"],
  ["%T", ["a"], "string"],
  ["%T", [[1]], "[]interface {}"],
  ["%T", [{}], "map[string]interface {}"],
  ["%T", [null], "<nil>"],
  ["%z", [1], "%!z(int=1)"],
  ["%", [1], "%!(NOVERB)%!(EXTRA int=1)"],
  ["%d", [], "%!d(MISSING)"],
  ["%d %d", [1], "1 %!d(MISSING)"],
  ["%d", [1, 2], "1%!(EXTRA int=2)"],
  ["%!", [1], "%!!(int=1)"],
  ["%%", [], "%"],
  ["%[2]d %[1]d", [1, 2], "2 1"],
  ["%[3]d", [1], "%!d(BADINDEX)"],
  ["%*d|", [5, 42], "   42|"],
  ["%-*d|", [5, 42], "42   |"],
  ["%.*f", [2, 3.25625], "3.26"],
  ["%12b", ["abc"], "%!b(string=         abc)"],
  ["%+.0t", [123], "%!t(int=+123)"],
  ["%5f", [-1], "%!f(int=   -1)"],
  ["%.0E", [0], "%!E(int=)"],
  ["a%sb%sc", ["x", "y"], "axbyc"],
  ["%3c|", [65], "  A|"],
  ["%v %v", [1, "a"], "1 a"],
  ["no verbs", [], "no verbs"],
  ["%q", [""], '""'],
  ["%t", [[true, false]], "[true false]"],
];

test.each(RECORDED)("%j of %j is %j", (format, args, text) => {
  expect(sprintf(format, args)).toBe(text);
});

test("structs and enums print as they say themselves", () => {
  const point = new GoStruct("*geo.Point", new Map([["X", 1]]), { x: 1 }, "x:1");
  const mode = new GoEnum("geo.Mode", "FAST", 2);
  expect(sprintf("%v %s %T", [point, point, point])).toBe("x:1 x:1 *geo.Point");
  expect(sprintf("%v %s %d %T", [mode, mode, mode, mode])).toBe("FAST FAST 2 geo.Mode");
});

test("integers beyond 2^53 stay exact", () => {
  expect(sprintf("%d %x", [9007199254740993n, 18446744073709551615n])).toBe("9007199254740993 ffffffffffffffff");
});

test("an absurd width is refused instead of filling the memory", () => {
  expect(sprintf("%99999999d", [1])).toMatch(/^%!\(BADWIDTH\)d/);
  expect(sprintf("%.99999999f", [1.5])).toMatch(/^%!\(BADPREC\)f/);
});

test("text without a percent sign is its own result", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes("%"));
      expect(sprintf(text, [])).toBe(text);
      expect(sprintf("%s", [text])).toBe(text);
    }),
  );
});

test("any format gives text", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.bigInt());
  const format = fc
    .tuple(
      fc.constantFrom("", "#", "+", "-", "0", " "),
      fc.constantFrom("", "5", ".3", "*"),
      fc.constantFrom(..."vTtbcdoOqxXUeEfFgGsp%"),
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(format, fc.string({ maxLength: 8 })), fc.array(value, { maxLength: 4 }), (text, args) => {
      expect(typeof sprintf(`%${text}`, args)).toBe("string");
    }),
    { numRuns: 2000 },
  );
});

test.each([-1, 0x110000, 0xd800])("%%c of %d, which is not a character, prints the replacement character", (code) => {
  expect(sprintf("%c", [code])).toBe("\ufffd");
});
