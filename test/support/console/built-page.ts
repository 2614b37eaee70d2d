import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../..");
let built: Promise<string> | undefined;

/** The page of these sources, whatever dist/ holds; one build for all tests of a process. */
export function buildPage(): Promise<string> {
  built ??= build();
  return built;
}

async function build(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "console-page-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  // A script, not a module of the project: it has no types.
  const script = join(root, "scripts/build-console.mjs");
  const { buildConsole } = (await import(script)) as { buildConsole(root: string, folder: string): Promise<void> };
  await buildConsole(root, folder);
  return join(folder, "console");
}
