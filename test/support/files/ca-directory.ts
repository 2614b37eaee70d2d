import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface CaDirectory extends AsyncDisposable {
  readonly path: string;
  file(name: string): string;
  write(files: Readonly<Record<string, string>>): Promise<void>;
}

/** A directory that is gone with its content at the end of the test. */
export async function makeCaDirectory(files: Readonly<Record<string, string>> = {}): Promise<CaDirectory> {
  const path = await mkdtemp(join(tmpdir(), "ca-"));
  const file = (name: string) => join(path, name);
  const write = async (content: Readonly<Record<string, string>>) => {
    await Promise.all(Object.entries(content).map(([name, text]) => writeFile(file(name), text)));
  };
  await write(files);
  return { path, file, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
