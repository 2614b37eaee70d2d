import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { FileError, fileErrorText, isMissingFile, readFileLimited } from "../../files/read-file.ts";
import { SecretError } from "../secret-error.ts";

/** Far above any certificate bundle; a name on the SDS socket must not make the agent read a disk image into memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A regular file's bytes. Rejects with a `SecretError` in the words operators know from Go: "open P: no such file or directory". */
export async function readCertificateFile(path: string, maxBytes = MAX_BYTES): Promise<Buffer> {
  try {
    return await readFileLimited(path, maxBytes);
  } catch (cause) {
    throw new SecretError("bad-file", fileErrorText(path, cause), { cause });
  }
}

export function isMissing(thrown: unknown): boolean {
  return thrown instanceof SecretError && isMissingFile(thrown.cause);
}

/** The system's name for why a file could not be read, or a sentence where it has none. */
export function readProblem(thrown: unknown): string {
  const cause = thrown instanceof SecretError ? thrown.cause : thrown;
  return cause instanceof FileError ? cause.message : (errorCode(cause) ?? errorMessage(thrown));
}
