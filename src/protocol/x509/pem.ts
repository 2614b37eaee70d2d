import { X509Error } from "./x509-error.ts";

export interface PemBlock {
  readonly type: string;
  readonly der: Buffer;
}

const BEGIN = "-----BEGIN ";
const END = "-----END ";
const DASHES = "-----";
const BASE64_BODY = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;
/** RFC 1421 headers ("Proc-Type: 4,ENCRYPTED"), ended by an empty line. */
const HEADERS = /^\s*(?:[A-Za-z0-9-]+:[^\n]*\n)+\s*\n/;

/**
 * Every block of the text in order; prose around blocks is skipped, a broken block rejects the text. Searches by index rather than by
 * one expression: the text may come from a stranger, and this is linear for any content.
 */
export function parsePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (let start = text.indexOf(BEGIN); start !== -1; ) {
    const typeEnd = text.indexOf(DASHES, start + BEGIN.length);
    const type = text.slice(start + BEGIN.length, typeEnd === -1 ? start + BEGIN.length : typeEnd);
    const end = typeEnd === -1 ? -1 : text.indexOf(END, typeEnd);
    const closing = `${END}${type}${DASHES}`;
    if (end === -1 || !text.startsWith(closing, end)) throw new X509Error("bad-pem", "PEM block without its end line");
    const base64 = text.slice(typeEnd + DASHES.length, end).replace(HEADERS, "");
    if (!BASE64_BODY.test(base64)) throw new X509Error("bad-pem", "PEM block whose body is not base64");
    blocks.push({ type, der: Buffer.from(base64, "base64") });
    start = text.indexOf(BEGIN, end + closing.length);
  }
  return blocks;
}

/** One block with lines of 64 characters and a newline at the end. */
export function encodePem(type: string, der: Uint8Array): string {
  const base64 = Buffer.from(der).toString("base64");
  let lines = "";
  for (let at = 0; at < base64.length; at += 64) lines += `${base64.slice(at, at + 64)}\n`;
  return `${BEGIN}${type}${DASHES}\n${lines}${END}${type}${DASHES}\n`;
}

/** The certificates of a bundle, each as DER; blocks of other types are skipped. */
export function parsePemCertificates(text: string): Buffer[] {
  return parsePem(text)
    .filter((block) => block.type === "CERTIFICATE")
    .map((block) => block.der);
}
