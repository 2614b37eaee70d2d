import type { YamlProblem } from "./compose-yaml.ts";

/** What is wrong with a text and in which line, in the words of the reference. */
export function yamlProblemText({ code, message, position }: YamlProblem): string {
  switch (code) {
    case "TOO_DEEP":
      return `yaml: ${message}`;
    case "ALIAS_REPEATS":
      return "yaml: document contains excessive aliasing";
    case "NO_ANCHOR":
      return `yaml: unknown anchor '${/\*(\S+)/.exec(message)?.[1] ?? ""}' referenced`;
    default:
      return `yaml: line ${position.line}: ${word(code, message)}`;
  }
}

/** The reference's parser words for what our parser reports; the own text where there is no counterpart. */
function word(code: string, message: string): string {
  switch (code) {
    case "MISSING_CHAR":
      return message.includes("quote") ? "found unexpected end of stream" : "did not find expected node content";
    case "BAD_INDENT":
      return "did not find expected node content";
    case "TAB_AS_INDENT":
      return "found character that cannot start any token";
    case "BLOCK_AS_IMPLICIT_KEY":
      return "mapping values are not allowed in this context";
    case "MULTILINE_IMPLICIT_KEY":
      return "could not find expected ':'";
    case "UNEXPECTED_TOKEN":
      return "did not find expected key";
    default:
      return message;
  }
}
