const UNSAFE = /[^\x20-\x24\x26-\x7e]/;

/** The `grpc-message` header: UTF-8, with every byte outside printable ASCII and `%` itself percent-encoded. */
export function encodeStatusMessage(message: string): string {
  if (!UNSAFE.test(message)) return message;
  let encoded = "";
  for (const byte of Buffer.from(message, "utf8")) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Never fails: what is not a valid escape stays as it is, because a garbled message is better than a lost one. */
export function decodeStatusMessage(header: string): string {
  if (!header.includes("%")) return header;
  const bytes = Buffer.from(header, "utf8");
  const decoded = Buffer.alloc(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index++) {
    const escaped = bytes[index] === 0x25 ? bytes.toString("latin1", index + 1, index + 3) : "";
    const isEscape = /^[0-9a-fA-F]{2}$/.test(escaped);
    decoded[length++] = isEscape ? Number.parseInt(escaped, 16) : (bytes[index] ?? 0);
    if (isEscape) index += 2;
  }
  return decoded.toString("utf8", 0, length);
}
