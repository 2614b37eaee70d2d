import { expect, test } from "vitest";
import { interpolate } from "./interpolate.ts";
import { parseEnvFile } from "./parse-env-file.ts";

const VARIABLES: Readonly<Record<string, string>> = { A: "one", EMPTY: "", B_2: "two" };
const lookup = (name: string) => VARIABLES[name];
const strict = (text: string) => interpolate(text, lookup, { unset: "error", takesBare: false });

test.each([
  ["plain", "plain"],
  ["${A}-${B_2}", "one-two"],
  ["${EMPTY}", ""],
  ["${EMPTY:-x}${EMPTY-y}", "x"],
  ["${C:-a ${B_2} b}", "a two b"],
  ["${C-}", ""],
  ["${A:+set}${C:+set}${EMPTY+set}${EMPTY:+no}", "setset"],
  ["${A:?needed}", "one"],
  ["$${A} costs 5$$", "${A} costs 5$"],
  ["$(PORT) $$(PORT) $A", "$(PORT) $$(PORT) $A"],
  ["100$", "100$"],
])("%s becomes %s", (text, wanted) => {
  expect(strict(text)).toEqual({ text: wanted });
});

test.each([
  ["${C}", "the variable C is not set; set it, or give a default: ${C:-...}"],
  ["${C:?a password}", "C: a password"],
  ["${EMPTY:?}", "EMPTY is not set"],
  ["${A", "${A has no closing brace; $${ stands for ${"],
  ["${req.url}", "${req.url} is not a variable; $${ stands for ${"],
  ["${}", "${} is not a variable; $${ stands for ${"],
])("%s is refused: %s", (text, problem) => {
  expect(strict(text)).toEqual({ problem });
});

test("as in compose files, bare names are variables and what is not set is empty", () => {
  const loose = (text: string) => interpolate(text, lookup, { unset: "empty", takesBare: true });
  expect(loose("$A/${C}/$C/$$A/$5")).toEqual({ text: "one///$A/$5" });
});

test("an env file has the usual grammar of dotenv", () => {
  const text = `\uFEFF# a comment

PLAIN=some value   # with a comment
HASH=a#b
export EXPORTED=yes
QUOTED="two\\nlines \${PLAIN} \\$PLAIN \\"x\\"" # said
SINGLE='as $it is\\n'
LONG="first
second"
SPACED = x
EMPTY_ONE=
A
NOT_SET
WINDOWS=1\r
LAST=\${A:-z}$A
`;
  expect(parseEnvFile(text, lookup)).toEqual({
    problems: [],
    variables: {
      PLAIN: "some value",
      HASH: "a#b",
      EXPORTED: "yes",
      QUOTED: 'two\nlines some value $PLAIN "x"',
      SINGLE: "as $it is\\n",
      LONG: "first\nsecond",
      SPACED: "x",
      EMPTY_ONE: "",
      A: "one",
      WINDOWS: "1",
      LAST: "oneone",
    },
  });
});

test("mistakes of an env file are found with their lines, all at once", () => {
  expect(parseEnvFile('A=1\n=x\nB="open\nC=2\n', lookup).problems).toEqual([
    { line: 2, text: '"=x" is not NAME=value' },
    { line: 3, text: 'B: the quote " is not closed' },
  ]);
  expect(parseEnvFile("a b\nD='x' y\nE=${F\n", lookup).problems).toEqual([
    { line: 1, text: '"a b" is not NAME=value' },
    { line: 2, text: "D: something follows the closing quote" },
    { line: 3, text: "E: ${F has no closing brace; $${ stands for ${" },
  ]);
});
