import { isUtf8 } from "node:buffer";
import { stat } from "node:fs/promises";
import { errorCode, errorMessage } from "../../../base/coded-error.ts";
import { MAX_FILE_BYTES, readFileLimited } from "../../../files/read-file.ts";
import { type ConfigParser, type ReadDocument, readDocuments } from "../../parse/config-parser.ts";
import type { FoundFile } from "./list-files.ts";
import { mapBounded } from "./map-bounded.ts";

/** What a file gave when it was last read. */
export interface ReadFile {
  readonly path: string;
  readonly mtimeMs: number;
  readonly documents: readonly ReadDocument[];
  /** Set when the file as a whole could not be read. */
  readonly failure?: string;
}

export interface FileReader {
  /** In the order of the files; those that are gone are left out. */
  read(files: readonly FoundFile[]): Promise<readonly ReadFile[]>;
  /** Forgets files that the finished round did not see. */
  endRound(): void;
}

/** Files that are read together, and how large they may be together: as much as one alone. */
const READS = { maxTasks: 16, maxCost: MAX_FILE_BYTES, costOf: ({ size }: FoundFile) => size };
/** A file as young as this may be written again without its time stamp moving. */
const CLOCK_GRAIN_MS = 2000;
/** How long an emptied file may mean that its new content is on the way. */
const EMPTY_GRACE_MS = 1000;
const SPACE = 0x20;

interface CachedFile {
  readonly signature: string;
  readonly readAt: number;
  readonly file: ReadFile;
}

/** Reads files, and decodes only those documents whose text the file did not have before. */
export function createFileReader(defaultNamespace: string, parser: ConfigParser): FileReader {
  let files = new Map<string, CachedFile>();
  let seen = new Map<string, CachedFile>();
  const load = async (found: FoundFile, known: ReadFile | undefined): Promise<ReadFile | undefined> => {
    const { path, mtimeMs } = found;
    try {
      const bytes = await readFileLimited(path);
      if (known !== undefined && (await isUnfinished(found, bytes))) return known;
      if (!isUtf8(bytes)) throw new Error("file is not UTF-8 text");
      const documents = await readDocuments(bytes, known?.documents ?? [], { parser, defaultNamespace });
      return { path, mtimeMs, documents };
    } catch (thrown) {
      if (errorCode(thrown) === "ENOENT") return undefined;
      // Of the whole server: the file is not to blame.
      if (errorCode(thrown) === "stopped") throw thrown;
      return { path, mtimeMs, documents: [], failure: errorMessage(thrown) };
    }
  };
  const readOne = async (found: FoundFile): Promise<ReadFile | undefined> => {
    const known = files.get(found.path);
    const isSettled = known !== undefined && known.readAt - found.mtimeMs > CLOCK_GRAIN_MS;
    const isSame = isSettled && known.signature === found.signature && known.file.failure === undefined;
    const readAt = isSame ? known.readAt : Date.now();
    const file = isSame ? known.file : await load(found, known?.file);
    if (file !== undefined) seen.set(found.path, { signature: found.signature, readAt, file });
    return file;
  };
  return {
    read: async (found) => (await mapBounded(found, readOne, READS)).filter((file) => file !== undefined),
    endRound: () => {
      [files, seen] = [seen, new Map()];
    },
  };
}

/**
 * Somebody is writing: the file changed while it was read, or it was emptied a moment ago, as a write in place begins. Taking it now would
 * delete its objects for the time of a write; the end of the write is an event of its own, and the regular look finds what stays empty.
 */
async function isUnfinished({ path, size, mtimeMs }: FoundFile, bytes: Buffer): Promise<boolean> {
  if (!bytes.some((byte) => byte > SPACE) && Date.now() - mtimeMs < EMPTY_GRACE_MS) return true;
  const after = await stat(path);
  return after.size !== size || after.mtimeMs !== mtimeMs;
}
