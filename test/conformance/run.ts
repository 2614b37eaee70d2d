import { FAMILIES } from "./families.ts";

/** `npm run conformance -- FAMILY DIR`: one line per case, exit code 1 when a case fails, 2 when the call is wrong. */
export async function main(args: readonly string[], print: (line: string) => void): Promise<number> {
  const [name, dir] = args;
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family === undefined || dir === undefined) {
    print(`usage: npm run conformance -- FAMILY DIR   (families: ${FAMILIES.map((known) => known.name).join(", ")})`);
    return 2;
  }
  let failed = 0;
  const cases = await family.load(dir);
  for (const entry of cases) {
    const difference = await entry.run().catch((thrown: unknown) => String(thrown));
    if (difference !== undefined) failed += 1;
    print(difference === undefined ? `pass ${entry.name}` : `FAIL ${entry.name}: ${difference}`);
  }
  print(`${cases.length - failed} passed, ${failed} failed`);
  return failed > 0 || cases.length === 0 ? 1 : 0;
}
