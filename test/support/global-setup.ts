import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const project = resolve(import.meta.dirname, "../..");

/**
 * Tests run the program as users of their own, as pods do. A project that those cannot enter, for example below root's home, has its
 * built parts copied to where they can, once for the whole run.
 */
export default function setUp(): (() => void) | undefined {
  if (process.getuid?.() !== 0 || !existsSync(join(project, "dist")) || isOpenToOthers(project)) return undefined;
  const copy = mkdtempSync(join(tmpdir(), "pilot-agent-program-"));
  chmodSync(copy, 0o755);
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(project, name), join(copy, name), { recursive: true });
  process.env.PROGRAM_FOLDER = copy;
  return () => rmSync(copy, { recursive: true, force: true });
}

function isOpenToOthers(folder: string): boolean {
  const canEnter = (statSync(folder).mode & 0o001) !== 0;
  return canEnter && (folder === dirname(folder) || isOpenToOthers(dirname(folder)));
}
