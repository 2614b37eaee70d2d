/** A command line that was understood and makes no sense: exit code 2, as for one that was not understood. */
export class UsageMistake extends Error {}

/** The value of a flag that has few of them. */
export function oneOf<Value extends string>(flag: string, given: string, allowed: readonly Value[]): Value {
  const found = allowed.find((value) => value === given);
  if (found === undefined)
    throw new UsageMistake(`--${flag} is ${JSON.stringify(given)}, allowed are ${allowed.join(", ")}`);
  return found;
}

export function noArguments(args: readonly string[]): string | undefined {
  return args.length > 0 ? `no argument is expected, found ${args.join(" ")}` : undefined;
}
