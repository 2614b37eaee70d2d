import fc from "fast-check";
import { SPRIG_FUNCTIONS } from "../../../src/template/functions/sprig.ts";
import { parseTemplate } from "../../../src/template/parse-template.ts";
import { TemplateError } from "../../../src/template/template-error.ts";

const TOKENS = [
  ..."{{ }} {{- -}} ( ) | . .a .b.c $ $x := = , if else end range with define template block break continue nil true".split(
    " ",
  ),
  ...'1 -2.5 \'c\' "s" `r` "%d%v" printf print index eq len and or not slice dict list join toJson /* */'.split(" "),
  "\n",
  " ",
];
const VALUES = ["nil", "1", "-1", "2.5", '""', '"x,y"', "true", ".a", ".b", ".b.c", ".z", ".missing", "(list 1 2)"];
const data = { a: "text", b: { c: [1, 2, { d: null }] }, n: 3, t: true, z: null };
const limits = { maxSteps: 20_000, maxOutputBytes: 100_000 };

/** Throws, and so fails the property, for everything but output and an error of the engine's own kind. */
function check(text: string): void {
  try {
    parseTemplate("t", text, { functions: SPRIG_FUNCTIONS, limits }).execute(data);
  } catch (failure) {
    if (!(failure instanceof TemplateError)) throw failure;
  }
}

export function anyText(numRuns: number): void {
  const character = fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const text = fc.array(fc.oneof(character, fc.string({ minLength: 1, maxLength: 1 })), { maxLength: 60 });
  fc.assert(
    fc.property(text, (characters) => check(`{{${characters.join("")}`)),
    { numRuns },
  );
}

export function anyTokens(numRuns: number): void {
  const tokens = fc.array(fc.constantFrom(...TOKENS), { maxLength: 25 });
  fc.assert(
    fc.property(tokens, fc.constantFrom("", " "), (words, glue) => {
      check(words.join(glue));
      check(`{{${words.join(" ")}}}`);
    }),
    { numRuns },
  );
}

export function anyArguments(numRuns: number): void {
  const names = fc.constantFrom(...Object.keys(SPRIG_FUNCTIONS));
  fc.assert(
    fc.property(names, fc.array(fc.constantFrom(...VALUES), { maxLength: 4 }), (name, args) =>
      check(`{{${[name, ...args].join(" ")}}}`),
    ),
    { numRuns },
  );
}
