import { gzipSync } from "node:zlib";

export interface TarMember {
  readonly name: string;
  readonly data?: Buffer;
  /** "0" file, "5" folder, "x" extended header ... */
  readonly type?: string;
  /** Written instead of the data's length. */
  readonly claimedSize?: number;
}

/** An archive in the ustar format, made by hand so that it may also be a broken one. */
export function buildTar(members: readonly TarMember[]): Buffer {
  const blocks = members.flatMap(({ name, data = Buffer.alloc(0), type = "0", claimedSize = data.length }) => {
    const header = Buffer.alloc(512);
    header.write(name.slice(0, 100), 0);
    header.write("0000644\0", 100);
    header.write(`${claimedSize.toString(8).padStart(11, "0")}\0`, 124);
    header.write("        ", 148);
    header.write(type, 156);
    header.write("ustar\x0000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export function buildTarGz(members: readonly TarMember[]): Buffer {
  return gzipSync(buildTar(members));
}
