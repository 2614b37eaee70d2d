import type { FlagSpec } from "./flags.ts";

/** Words of a command line as the search for the sub-command sees them: which one names it, and what remains for its parser. */
export interface FoundWord {
  readonly word: string | undefined;
  readonly rest: readonly string[];
}

/**
 * Before the command is known its flags are not either, so every `--x` or `-x` without `=` that is not a known boolean is taken to
 * consume the next word.
 */
export function findCommandWord(specs: readonly FlagSpec[], words: readonly string[]): FoundWord {
  const word = bareWords(specs, words)[0];
  return { word, rest: word === undefined ? words : withoutFirst(specs, words, word) };
}

/** Words that are neither flags nor taken for a flag's value. */
function bareWords(specs: readonly FlagSpec[], words: readonly string[]): string[] {
  const found: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (word === "--") break;
    if (consumesNext(specs, word)) {
      // The reference gives up when the assumed value would be the last word: `-x version` is no `version`.
      if (words.length - index - 1 <= 1) break;
      index += 1;
    } else if (word !== "" && !word.startsWith("-")) {
      found.push(word);
    }
  }
  return found;
}

function withoutFirst(specs: readonly FlagSpec[], words: readonly string[], target: string): readonly string[] {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (word === "--") break;
    if (consumesNext(specs, word)) index += 1;
    else if (word === target) return words.toSpliced(index, 1);
  }
  return words;
}

function consumesNext(specs: readonly FlagSpec[], word: string): boolean {
  if (word.includes("=")) return false;
  const isBool = (matches: (spec: FlagSpec) => boolean) => specs.some((spec) => spec.type === "bool" && matches(spec));
  if (word.startsWith("--")) return !isBool((spec) => spec.name === word.slice(2));
  return word.startsWith("-") && word.length === 2 && !isBool((spec) => spec.short === word.slice(1));
}
