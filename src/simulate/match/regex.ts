/** Whether RE2 would match the whole text; undefined for an expression that JavaScript's engine does not understand. */
export function matchesWhole(regex: string, text: string): boolean | undefined {
  return toExpression(`^(?:${stripFlags(regex)})$`, flagsOf(regex))?.test(text);
}

/** Every match replaced, with `\1` for groups as RE2 writes them; undefined for an expression that is not understood. */
export function substitute(regex: string, substitution: string, text: string): string | undefined {
  const expression = toExpression(stripFlags(regex), `${flagsOf(regex)}g`);
  if (expression === undefined) return undefined;
  const replacement = substitution
    .replaceAll("$", "$$$$")
    .replaceAll(/\\(\d)|\\\\/g, (found, group: string | undefined) => {
      if (group === undefined) return "\\";
      return found === "\\0" ? "$&" : `$${group}`;
    });
  return text.replaceAll(expression, replacement);
}

/** RE2 sets flags for a whole expression at its front, JavaScript beside it. */
const FLAGS = /^\(\?([ims]+)\)/;

function flagsOf(regex: string): string {
  return [...new Set(FLAGS.exec(regex)?.[1] ?? "")].join("");
}

function stripFlags(regex: string): string {
  return regex.replace(FLAGS, "");
}

function toExpression(regex: string, flags: string): RegExp | undefined {
  const spelled = regex
    .replaceAll("(?P<", "(?<")
    .replaceAll(/\\A/g, "^")
    .replaceAll(/\\z/g, "$")
    .replaceAll("[[:alnum:]]", "[0-9A-Za-z]")
    .replaceAll("[[:alpha:]]", "[A-Za-z]")
    .replaceAll("[[:digit:]]", "\\d")
    .replaceAll("[[:space:]]", "\\s");
  try {
    return new RegExp(spelled, `${flags}u`);
  } catch {
    // RE2 takes escapes of characters that need none, which the strict mode of JavaScript refuses.
    return looseExpression(spelled, flags);
  }
}

function looseExpression(spelled: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(spelled, flags);
  } catch {
    return undefined;
  }
}
