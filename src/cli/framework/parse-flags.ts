import { CodedError, errorMessage } from "../../base/coded-error.ts";
import { quoteGo } from "../../base/go-quote.ts";
import type { FlagSpec, FlagValue } from "./flags.ts";
import { parseBool, parseDurationFlag, parseInteger } from "./parse-scalar.ts";

type FlagErrorCode = "bad-syntax" | "unknown-flag" | "missing-argument" | "invalid-argument";

/** The message is the reference's. */
export class FlagError extends CodedError<FlagErrorCode> {
  /** The same in our words, for commands that the reference does not have. */
  readonly plain: string;
  constructor(code: FlagErrorCode, message: string, plain: string, options?: ErrorOptions) {
    super(code, message, options);
    this.plain = plain;
  }
}

export interface ParsedFlags {
  /** Only what the command line set. */
  readonly set: ReadonlyMap<string, FlagValue>;
  readonly args: readonly string[];
  /** Unknown flags that were passed over, as written, with the word each of them swallowed. */
  readonly ignored: readonly string[];
}

/** GNU-style parsing, flags and words interleaved, `--` ends the flags; with the texts of the reference's flag library. */
export function parseFlags(specs: readonly FlagSpec[], words: readonly string[], tolerant: boolean): ParsedFlags {
  const set = new Map<string, FlagValue>();
  const args: string[] = [];
  const ignored: string[] = [];
  const rest = [...words];

  /** An unknown flag may have a value: a following word that is not a flag goes with it. */
  const passOver = (flag: string) => {
    const value = rest[0] !== undefined && !rest[0].startsWith("-") ? rest.shift() : undefined;
    ignored.push(value === undefined ? flag : `${flag} ${value}`);
  };

  const long = (word: string) => {
    const body = word.slice(2);
    if (body.startsWith("-") || body.startsWith("="))
      throw new FlagError("bad-syntax", `bad flag syntax: ${word}`, `${word} is no flag`);
    const equals = body.indexOf("=");
    const name = equals === -1 ? body : body.slice(0, equals);
    const spec = specs.find((candidate) => candidate.name === name);
    if (spec === undefined) {
      if (!tolerant) throw new FlagError("unknown-flag", `unknown flag: --${name}`, `there is no flag --${name}`);
      if (equals === -1) passOver(word);
      else ignored.push(word);
      return;
    }
    if (equals !== -1) return assign(set, spec, body.slice(equals + 1));
    if (spec.type === "bool") return assign(set, spec, "true");
    const value = rest.shift();
    if (value === undefined)
      throw new FlagError("missing-argument", `flag needs an argument: ${word}`, `${word} needs a value`);
    assign(set, spec, value);
  };

  const short = (word: string) => {
    let letters = word.slice(1);
    while (letters !== "") {
      const all = letters;
      const letter = letters.charAt(0);
      letters = letters.slice(1);
      const withEquals = all.length > 2 && letters.startsWith("=");
      const spec = specs.find((candidate) => candidate.short === letter);
      if (spec === undefined) {
        if (!tolerant)
          throw new FlagError(
            "unknown-flag",
            `unknown shorthand flag: '${letter}' in -${all}`,
            `there is no flag -${letter}`,
          );
        if (withEquals) return void ignored.push(word);
        passOver(`-${letter}`);
        continue;
      }
      if (withEquals) return assign(set, spec, letters.slice(1));
      if (spec.type === "bool") {
        assign(set, spec, "true");
        continue;
      }
      const value = letters === "" ? rest.shift() : letters;
      if (value === undefined)
        throw new FlagError(
          "missing-argument",
          `flag needs an argument: '${letter}' in -${all}`,
          `-${letter} needs a value`,
        );
      return assign(set, spec, value);
    }
  };

  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      args.push(...rest.splice(0));
    } else if (word.startsWith("--")) {
      long(word);
    } else if (word.startsWith("-") && word.length > 1) {
      short(word);
    } else {
      args.push(word);
    }
  }
  return { set, args, ignored };
}

/** Throws the scalar's own error; callers decide whether a bad value is fatal (command line) or ignored (environment). */
export function parseFlagValue(spec: FlagSpec, text: string): FlagValue {
  switch (spec.type) {
    case "bool":
      return parseBool(text);
    case "int":
      return parseInteger(text, 64, true);
    case "int32":
      return parseInteger(text, 32, true);
    case "uint16":
      return parseInteger(text, 16, false);
    case "duration":
      return parseDurationFlag(text);
    case "stringArray":
      return [text];
    case "string":
      return text;
  }
}

const EXPECTED: Readonly<Record<FlagSpec["type"], string>> = {
  bool: "true or false",
  int: "a whole number",
  int32: "a whole number",
  uint16: "a number from 0 to 65535",
  duration: "a duration like 90s or 1h30m",
  string: "text",
  stringArray: "text",
};

function assign(set: Map<string, FlagValue>, spec: FlagSpec, text: string): void {
  try {
    const value = parseFlagValue(spec, text);
    const before = set.get(spec.name);
    set.set(spec.name, spec.type === "stringArray" && Array.isArray(before) ? [...before, text] : value);
  } catch (cause) {
    const name = spec.short === undefined ? `--${spec.name}` : `-${spec.short}, --${spec.name}`;
    const message = `invalid argument ${quoteGo(text)} for ${quoteGo(name)} flag: ${errorMessage(cause)}`;
    const plain = `--${spec.name} is ${JSON.stringify(text)}, expected ${EXPECTED[spec.type]}`;
    throw new FlagError("invalid-argument", message, plain, { cause });
  }
}
