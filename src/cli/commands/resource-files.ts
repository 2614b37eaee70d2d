import { createReadStream, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { replaceFile } from "../../files/replace-file.ts";

const NEW_FILE_MODE = 0o644;

/** Texts of the files in order; `-` is the standard input. Rejects in the words of the reference. */
export async function readResourceFiles(files: readonly string[]): Promise<readonly string[]> {
  if (files.length === 0) throw new Error("filename not specified (see --filename or -f)");
  const texts: string[] = [];
  for (const file of files) texts.push(file === "-" ? await readStandardInput() : await readResource(file));
  return texts;
}

async function readResource(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (failure) {
    const problem = errorCode(failure) === "ENOENT" ? "no such file or directory" : errorMessage(failure);
    throw new Error(`open ${file}: ${problem}`, { cause: failure });
  }
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream("", { fd: 0, autoClose: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The whole text or nothing of it, also where the output is one of the inputs. An existing file keeps its mode. */
export async function writeResourceFile(file: string, text: string): Promise<void> {
  const existing = statSync(file, { throwIfNoEntry: false });
  await replaceFile(file, text, { mode: existing === undefined ? NEW_FILE_MODE : existing.mode & 0o7777 });
}
