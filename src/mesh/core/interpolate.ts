/** Where the values of variables come from. */
export type Lookup = (name: string) => string | undefined;

export interface InterpolateOptions {
  /** What a variable that is not set and has no default is. */
  readonly unset: "error" | "empty";
  /** Whether `$NAME` is a variable too, as in dotenv and compose files. */
  readonly takesBare: boolean;
}

export type Interpolated = { readonly text: string } | { readonly problem: string };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*/;
const OPERATOR = /^(:?[-?+])/;

/**
 * Replaces `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `${NAME:+other}`; without the colon an empty value counts as set. `$$` is
 * a dollar sign, except before a bracket: `$$(NAME)` belongs to the next step, which knows the application's own variables.
 */
export function interpolate(text: string, lookup: Lookup, options: InterpolateOptions): Interpolated {
  let result = "";
  for (let at = 0; at < text.length; ) {
    const dollar = text.indexOf("$", at);
    if (dollar === -1) return { text: result + text.slice(at) };
    result += text.slice(at, dollar);
    const rest = text.slice(dollar + 1);
    if (rest.startsWith("$")) {
      result += rest.startsWith("$(") ? "$$" : "$";
      at = dollar + 2;
    } else if (rest.startsWith("{")) {
      const end = closingBrace(text, dollar + 2);
      if (end === -1) return { problem: `${text.slice(dollar)} has no closing brace; $\${ stands for \${` };
      const value = expand(text.slice(dollar + 2, end), lookup, options);
      if ("problem" in value) return value;
      result += value.text;
      at = end + 1;
    } else {
      const [name] = (options.takesBare ? NAME.exec(rest) : undefined) ?? [];
      if (name !== undefined && lookup(name) === undefined && options.unset === "error") return unsetProblem(name);
      result += name === undefined ? "$" : (lookup(name) ?? "");
      at = dollar + 1 + (name?.length ?? 0);
    }
  }
  return { text: result };
}

function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text.startsWith("${", at)) depth += 1;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}

/** What stands between the braces. */
function expand(inside: string, lookup: Lookup, options: InterpolateOptions): Interpolated {
  const [name] = NAME.exec(inside) ?? [];
  const after = inside.slice(name?.length ?? 0);
  const [operator = ""] = OPERATOR.exec(after) ?? [];
  if (name === undefined || (operator === "" && after !== "")) {
    return { problem: `\${${inside}} is not a variable; $\${ stands for \${` };
  }
  const word = after.slice(operator.length);
  const value = lookup(name);
  const isSet = operator.startsWith(":") ? value !== undefined && value !== "" : value !== undefined;
  switch (operator.at(-1)) {
    case "-":
      return isSet ? { text: value ?? "" } : interpolate(word, lookup, options);
    case "+":
      return isSet ? interpolate(word, lookup, options) : { text: "" };
    case "?":
      return isSet ? { text: value ?? "" } : { problem: word === "" ? `${name} is not set` : `${name}: ${word}` };
    default:
      if (value === undefined && options.unset === "error") return unsetProblem(name);
      return { text: value ?? "" };
  }
}

function unsetProblem(name: string): Interpolated {
  return { problem: `the variable ${name} is not set; set it, or give a default: \${${name}:-...}` };
}
