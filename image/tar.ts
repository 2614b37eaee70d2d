/** One member of an archive. Owners are numbers: names would be looked up on the machine that unpacks. */
export interface TarEntry {
  /** Without a leading slash. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Of a file. */
  readonly content?: Buffer;
  /** Of a symlink. */
  readonly target?: string;
}

const BLOCK_BYTES = 512;
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);
const TYPE_FLAGS = { file: "0", symlink: "2", directory: "5" } as const;

/** The archive in pieces (POSIX ustar); the same entries and time give the same bytes. */
export function* tarPieces(entries: readonly TarEntry[], mtimeSeconds: number): Generator<Buffer> {
  for (const entry of entries) {
    const content = entry.content ?? Buffer.alloc(0);
    yield tarHeader(entry, content.length, mtimeSeconds);
    yield content;
    yield tarPadding(content.length);
  }
  yield TAR_END;
}

/** What follows the content of a member. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** The block before a member's content. */
export function tarHeader(entry: TarEntry, size: number, mtimeSeconds: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const { prefix, name } = splitPath(entry.type === "directory" ? `${entry.path}/` : entry.path);
  const octal = (value: number, at: number, bytes: number) =>
    header.write(`${value.toString(8).padStart(bytes - 1, "0")}\0`, at, "latin1");
  header.write(name, 0, "utf8");
  octal(entry.mode, 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(mtimeSeconds, 136, 12);
  header.write(TYPE_FLAGS[entry.type], 156, "latin1");
  header.write(fitting(entry.target ?? "", 100, entry.path), 157, "utf8");
  header.write("ustar\x0000", 257, "latin1");
  header.write(prefix, 345, "utf8");
  // The sum counts its own field as spaces.
  header.write("        ", 148, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** Paths of more than 100 bytes are cut at a slash; the format has 155 more for what comes before it. */
function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: "", name: path };
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
    const name = path.slice(at + 1);
    if (name !== "" && Buffer.byteLength(name) <= 100) return { prefix: fitting(path.slice(0, at), 155, path), name };
  }
  throw new Error(`${path}: the name is too long for a tar archive (100 bytes after the last cut)`);
}

function fitting(text: string, maxBytes: number, path: string): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  throw new Error(`${path}: ${text} is too long for a tar archive (${maxBytes} bytes)`);
}
