/** What a program needs to be loaded. */
export interface ElfNeeds {
  /** Path of its loader; absent for libraries and static programs. */
  readonly interpreter?: string;
  /** Names of shared libraries, in the order of its dynamic section. */
  readonly libraries: readonly string[];
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const LITTLE_ENDIAN_64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** The processor that the file is for, by its number in the format; undefined for what is not an ELF file. */
export function readElfMachine(file: Buffer): number | undefined {
  return isElf(file) ? file.readUInt16LE(18) : undefined;
}

/** Undefined for what is not an ELF file, a script for example. */
export function readElfNeeds(file: Buffer): ElfNeeds | undefined {
  if (!isElf(file)) return undefined;
  const segments = readSegments(file);
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  return {
    ...(interpreter && { interpreter: textAt(file, interpreter.offset) }),
    libraries: dynamic === undefined ? [] : readNeeded(file, segments, dynamic),
  };
}

function isElf(file: Buffer): boolean {
  return file.subarray(0, LITTLE_ENDIAN_64.length).equals(LITTLE_ENDIAN_64);
}

function readSegments(file: Buffer): Segment[] {
  const table = word(file, 32);
  const entryBytes = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const at = table + index * entryBytes;
    return {
      type: file.readUInt32LE(at),
      offset: word(file, at + 8),
      address: word(file, at + 16),
      size: word(file, at + 32),
    };
  });
}

function readNeeded(file: Buffer, segments: readonly Segment[], dynamic: Segment): string[] {
  const entries: (readonly [tag: number, value: number])[] = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16)
    entries.push([word(file, at), word(file, at + 8)]);
  const address = entries.find(([tag]) => tag === DT_STRTAB)?.[1] ?? 0;
  // The table is given by where it will be in memory.
  const holder = segments.find(
    ({ type, address: from, size }) => type === PT_LOAD && address >= from && address < from + size,
  );
  if (holder === undefined) return [];
  const strings = holder.offset + address - holder.address;
  return entries.filter(([tag]) => tag === DT_NEEDED).map(([, value]) => textAt(file, strings + value));
}

function word(file: Buffer, at: number): number {
  return Number(file.readBigUInt64LE(at));
}

function textAt(file: Buffer, at: number): string {
  return file.toString("utf8", at, file.indexOf(0, at));
}
