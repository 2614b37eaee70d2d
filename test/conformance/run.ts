import { statSync } from "node:fs";
import { ALL_FAMILIES } from "./families.ts";

/** `npm run conformance -- FAMILY DIR`: one line per case, exit code 1 when a case fails, 2 when the call is wrong or finds no case. */
export async function main(args: readonly string[], print: (line: string) => void): Promise<number> {
  const [name, dir] = args;
  const family = ALL_FAMILIES.find((candidate) => candidate.name === name);
  const wrong = (problem: string) => {
    const families = ALL_FAMILIES.map((known) => known.name).join(", ");
    print(`${problem}; usage: npm run conformance -- FAMILY DIR   (families: ${families})`);
    return 2;
  };
  if (name === undefined || dir === undefined) return wrong("family or folder missing");
  if (family === undefined) return wrong(`no family named ${name}`);
  if (!isFolder(dir)) return wrong(`${dir} is no folder`);
  let failed = 0;
  let unsupported = 0;
  const cases = await family.load(dir);
  if (cases.length === 0) return wrong(`${dir} has no cases of the family ${name}`);
  for (const entry of cases) {
    if (entry.unsupported !== undefined) {
      unsupported += 1;
      print(`SKIP ${entry.name}: ${entry.unsupported}`);
      continue;
    }
    const difference = await entry.run().catch((thrown: unknown) => String(thrown));
    if (difference !== undefined) failed += 1;
    print(difference === undefined ? `pass ${entry.name}` : `FAIL ${entry.name}: ${difference}`);
  }
  const skipped = unsupported > 0 ? `, ${unsupported} not supported yet` : "";
  print(`${cases.length - failed - unsupported} passed, ${failed} failed${skipped}`);
  return failed > 0 ? 1 : 0;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
