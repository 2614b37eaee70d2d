import fc from "fast-check";
import { expect, test } from "vitest";
import type { FlagSpec } from "./flags.ts";
import { FlagError, parseFlags } from "./parse-flags.ts";

const SPECS: readonly FlagSpec[] = [
  { name: "domain", type: "string", default: "", usage: "" },
  { name: "stsPort", type: "int", default: 0, usage: "" },
  { name: "debug-port", type: "int32", default: 15000, usage: "" },
  { name: "probe-port", type: "uint16", default: 15002, usage: "" },
  { name: "timeout", type: "duration", default: 0n, usage: "" },
  { name: "log_target", type: "stringArray", default: ["stdout"], usage: "" },
  { name: "short", short: "s", type: "bool", default: false, usage: "" },
  { name: "output", short: "o", type: "string", default: "", usage: "" },
];

const parse = (line: string, tolerant = false) => parseFlags(SPECS, line === "" ? [] : line.split(" "), tolerant);

test.each([
  { line: "--domain=x", name: "domain", value: "x" },
  { line: "--domain x", name: "domain", value: "x" },
  { line: "--domain=", name: "domain", value: "" },
  { line: "--domain=a=b", name: "domain", value: "a=b" },
  { line: "--domain --short", name: "domain", value: "--short" },
  { line: "-o json", name: "output", value: "json" },
  { line: "-ojson", name: "output", value: "json" },
  { line: "-o=json", name: "output", value: "json" },
  { line: "-sojson", name: "output", value: "json" },
  { line: "-sojson", name: "short", value: true },
  { line: "--short", name: "short", value: true },
  { line: "--short=F", name: "short", value: false },
  { line: "-s=false", name: "short", value: false },
  { line: "--stsPort 0x10", name: "stsPort", value: 16 },
  { line: "--stsPort 0b101", name: "stsPort", value: 5 },
  { line: "--stsPort 0o17", name: "stsPort", value: 15 },
  { line: "--stsPort 017", name: "stsPort", value: 15 },
  { line: "--stsPort 1_000", name: "stsPort", value: 1000 },
  { line: "--stsPort -5", name: "stsPort", value: -5 },
  { line: "--timeout 2h45m", name: "timeout", value: 9_900_000_000_000n },
  { line: "--log_target a --log_target b,c", name: "log_target", value: ["a", "b,c"] },
])("$line sets $name to $value", ({ line, name, value }) => {
  expect(parse(line).set.get(name)).toEqual(value);
});

test.each([
  {
    line: "--stsPort abc",
    message: 'invalid argument "abc" for "--stsPort" flag: strconv.ParseInt: parsing "abc": invalid syntax',
  },
  {
    line: "--stsPort 08",
    message: 'invalid argument "08" for "--stsPort" flag: strconv.ParseInt: parsing "08": invalid syntax',
  },
  {
    line: "--debug-port 99999999999",
    message:
      'invalid argument "99999999999" for "--debug-port" flag: strconv.ParseInt: parsing "99999999999": value out of range',
  },
  {
    line: "--stsPort 9223372036854775808",
    message:
      'invalid argument "9223372036854775808" for "--stsPort" flag: strconv.ParseInt: parsing "9223372036854775808": value out of range',
  },
  {
    line: "--probe-port -1",
    message: 'invalid argument "-1" for "--probe-port" flag: strconv.ParseUint: parsing "-1": invalid syntax',
  },
  {
    line: "--probe-port 65536",
    message: 'invalid argument "65536" for "--probe-port" flag: strconv.ParseUint: parsing "65536": value out of range',
  },
  {
    line: "--short=yes",
    message: 'invalid argument "yes" for "-s, --short" flag: strconv.ParseBool: parsing "yes": invalid syntax',
  },
  { line: "--timeout x", message: 'invalid argument "x" for "--timeout" flag: time: invalid duration "x"' },
  { line: "--typo", message: "unknown flag: --typo" },
  { line: "--typo=1", message: "unknown flag: --typo" },
  { line: "-z", message: "unknown shorthand flag: 'z' in -z" },
  { line: "-sz", message: "unknown shorthand flag: 'z' in -z" },
  { line: "--domain", message: "flag needs an argument: --domain" },
  { line: "-o", message: "flag needs an argument: 'o' in -o" },
  { line: "--=x", message: "bad flag syntax: --=x" },
  { line: "---x", message: "bad flag syntax: ---x" },
])("$line is refused with: $message", ({ line, message }) => {
  expect(() => parse(line)).toThrow(message);
});

test.each([
  { line: "a --short b", args: ["a", "b"] },
  { line: "a -- --short b", args: ["a", "--short", "b"] },
  { line: "-", args: ["-"] },
  { line: "--domain -- a", args: ["a"] },
])("$line leaves the words $args", ({ line, args }) => {
  expect(parse(line).args).toEqual(args);
});

test.each([
  { line: "--foo=bar x", args: ["x"], ignored: ["--foo=bar"] },
  { line: "--foo router", args: [], ignored: ["--foo router"] },
  { line: "--foo --short router", args: ["router"], ignored: ["--foo"] },
  { line: "router --foo", args: ["router"], ignored: ["--foo"] },
  { line: "-x router", args: [], ignored: ["-x router"] },
  { line: "-x=1 router", args: ["router"], ignored: ["-x=1"] },
  { line: "-xy router", args: [], ignored: ["-x router", "-y"] },
  { line: "--foo -- router", args: ["router"], ignored: ["--foo"] },
])("with tolerance, $line leaves $args and reports $ignored", ({ line, args, ignored }) => {
  expect(parse(line, true)).toMatchObject({ args, ignored });
});

test.each(["--=x", "---x"])("tolerance does not forgive the syntax of %s", (line) => {
  expect(() => parse(line, true)).toThrow(`bad flag syntax: ${line}`);
});

test("any words give values or a coded error, and no word is lost without being reported", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom("--domain", "-s", "-o", "--foo", "--stsPort", "--", "-", "--short=1"),
  );
  fc.assert(
    fc.property(fc.array(word), fc.boolean(), (words, tolerant) => {
      try {
        const parsed = parseFlags(SPECS, words, tolerant);
        for (const arg of parsed.args) expect(words).toContain(arg);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(FlagError);
      }
    }),
  );
});
