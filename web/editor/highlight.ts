export type TokenKind = "plain" | "key" | "string" | "number" | "word" | "comment" | "mark";
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|%)?$/;
const WORD = /^(?:true|false|null|~)$/;

/** The tokens of one line of YAML. It colours, it does not judge: the server's parser says what is wrong. */
export function highlightLine(line: string): readonly Token[] {
  const tokens: Token[] = [];
  const push = (kind: TokenKind, text: string) => text !== "" && tokens.push({ kind, text });
  const lead = /^\s*(?:- +)*(?:-$)?/.exec(line)?.[0] ?? "";
  push("mark", lead);
  let rest = line.slice(lead.length);
  if (/^(?:---|\.\.\.)\s*$/.test(line)) return [{ kind: "mark", text: line }];
  const comment = commentAt(rest);
  const tail = comment === -1 ? "" : rest.slice(comment);
  if (comment !== -1) rest = rest.slice(0, comment);
  const key = /^((?:"[^"]*"|'[^']*'|[^\s'"{}[\],#:][^:#{}[\],]*?)\s*:)(?=\s|$)/.exec(rest)?.[0] ?? "";
  push("key", key);
  for (const part of rest.slice(key.length).split(/("(?:[^"\\]|\\.)*"|'[^']*'|[{}[\],:|>&*!]+|\s+)/)) {
    if (/^["']/.test(part)) push("string", part);
    else if (NUMBER.test(part)) push("number", part);
    else if (WORD.test(part)) push("word", part);
    else if (/^[{}[\],:|>&*!]+$/.test(part)) push("mark", part);
    else push("plain", part);
  }
  push("comment", tail);
  return tokens;
}

/** Where a comment begins: a # at the start or after a space, outside quotes. */
function commentAt(text: string): number {
  let quote = "";
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? "";
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "#" && (index === 0 || /\s/.test(text[index - 1] ?? ""))) return index;
  }
  return -1;
}
