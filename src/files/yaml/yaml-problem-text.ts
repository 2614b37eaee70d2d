import type { YAMLError } from "yaml";

/** What is wrong with a text and in which line, as the reference tells it. */
export function yamlProblemText({ code, message, linePos }: YAMLError): string {
  return `yaml: line ${linePos?.[0].line ?? 1}: ${word(code, message)}`;
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
      return message.split(" at line")[0] ?? message;
  }
}
