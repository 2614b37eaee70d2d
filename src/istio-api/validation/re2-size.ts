/**
 * Whether RE2 would refuse a (well-formed) regular expression for its size: counts inside counts multiply, and sidecars allow programs of
 * 32768 steps. The estimate errs on the large side; patterns that people write are far below.
 */
export function re2SizeProblem(pattern: string): string | undefined {
  const { repeats, steps } = measure(pattern);
  if (repeats > MAX_REPEATS) return `error parsing regexp: nested repeat counts multiply to more than ${MAX_REPEATS}`;
  return steps > MAX_STEPS ? "error parsing regexp: expression is too large to be compiled" : undefined;
}

const MAX_REPEATS = 1000;
const MAX_STEPS = 32768;

interface Size {
  readonly steps: number;
  /** How often the innermost part is repeated by counts. */
  readonly repeats: number;
}

const NOTHING: Size = { steps: 0, repeats: 1 };
const TOKEN =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:[^\]]*:\]|[^\]\\])*\]|\(\?[imsU-]+\)|\((?:\?(?:P?<\w+>|[imsU-]*:))?|\{\d+(?:,\d*)?\}|[\s\S]/gu;

function measure(pattern: string): Size {
  const outer: Size[] = [];
  let sum = NOTHING;
  let last = NOTHING;
  const settle = () => {
    sum = join(sum, last);
    last = NOTHING;
  };
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (token.startsWith("(") && !token.endsWith(")")) {
      settle();
      outer.push(sum);
      sum = NOTHING;
    } else if (token === ")") {
      settle();
      last = { ...sum, steps: sum.steps + 2 };
      sum = outer.pop() ?? NOTHING;
    } else if (/^\{\d/.test(token)) last = repeated(last, token);
    else if (/^[*+?]$/.test(token)) last = { ...last, steps: last.steps + 1 };
    else {
      settle();
      last = { steps: stepsOf(token), repeats: 1 };
    }
  }
  settle();
  return sum;
}

function join(a: Size, b: Size): Size {
  return { steps: a.steps + b.steps, repeats: Math.max(a.repeats, b.repeats) };
}

/** Copies that may be missing cost one step more each. */
function repeated({ steps, repeats }: Size, count: string): Size {
  const [least = 0, most = 0] = count.slice(1, -1).split(",").map(Number);
  const copies = Math.max(least, most, 1);
  return { steps: (steps + 1) * copies, repeats: repeats * copies };
}

/** Classes of Unicode are large; a class that leaves characters out is all the other ones, in up to four bytes each. */
function stepsOf(token: string): number {
  if (/\\[pP]/.test(token)) return 1000;
  if (token.startsWith("[^") || token === "." || /^\\[DSW]$/.test(token)) return 20;
  return Math.max(1, Buffer.byteLength(token));
}
