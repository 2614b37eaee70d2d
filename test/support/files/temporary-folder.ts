import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface TemporaryFolder extends Disposable, AsyncDisposable {
  readonly path: string;
  /** Path of a file in it, which need not exist. */
  file(...parts: readonly string[]): string;
  /** Writes a text, or a value as JSON, and returns the path. */
  write(name: string, content: unknown): string;
  writeAll(files: Readonly<Record<string, string | Buffer>>): void;
  read(name: string): string;
}

export interface TemporaryFolderOptions {
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Other users may enter it and read. */
  readonly isShared?: boolean;
}

/** A folder that is deleted with its content when disposed. */
export function temporaryFolder({ files = {}, isShared = false }: TemporaryFolderOptions = {}): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "pilot-agent-test-"));
  if (isShared) chmodSync(path, 0o755);
  const file = (...parts: readonly string[]) => join(path, ...parts);
  const write = (name: string, content: unknown) => {
    mkdirSync(dirname(file(name)), { recursive: true });
    const isPlain = typeof content === "string" || content instanceof Uint8Array;
    writeFileSync(file(name), isPlain ? content : JSON.stringify(content));
    return file(name);
  };
  const writeAll: TemporaryFolder["writeAll"] = (contents) => {
    for (const [name, content] of Object.entries(contents)) write(name, content);
  };
  writeAll(files);
  const remove = () => rmSync(path, { recursive: true, force: true });
  return {
    path,
    file,
    write,
    writeAll,
    read: (name) => readFileSync(file(name), "utf8"),
    [Symbol.dispose]: remove,
    [Symbol.asyncDispose]: async () => remove(),
  };
}
