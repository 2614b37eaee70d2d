import { parseCertificate } from "../../protocol/x509/certificate.ts";
import { DerReader } from "../../protocol/x509/der-reader.ts";
import { TAG } from "../../protocol/x509/der-writer.ts";
import { encodePem, parsePem } from "../../protocol/x509/pem.ts";

/** The usable certificates of a bundle, re-encoded in file order, and what was wrong with the rest. */
export interface ParsedRoots {
  readonly pem: string;
  readonly count: number;
  readonly problems: readonly string[];
}

/** The explicitly tagged version in front of the serial number. */
const VERSION_TAG = 0xa0;
const BEGIN = /-----BEGIN ([^\n-]*)-----/g;
/** All that TLS libraries read as a certificate to trust; the latter two are older spellings. */
const CERTIFICATE_TYPES: ReadonlySet<string> = new Set(["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]);

/**
 * A bad certificate or a block of another type (a key) is left out and named; so is a block that was cut off before the next one begins.
 * A last block without its end stops the scan but keeps what came before. Prose before and between blocks is skipped.
 */
export function parseRoots(text: string): ParsedRoots {
  const certificates: string[] = [];
  const problems: string[] = [];
  let at = 0;
  while (text.slice(at).trim() !== "") {
    BEGIN.lastIndex = at;
    const begin = BEGIN.exec(text);
    const end = begin === null ? -1 : text.indexOf(`-----END ${begin[1]}-----`, BEGIN.lastIndex);
    if (begin === null || end === -1) {
      problems.push("invalid PEM encoded certificate");
      break;
    }
    const next = text.lastIndexOf("-----BEGIN ", end);
    if (next > begin.index) {
      problems.push("invalid PEM encoded certificate");
      at = next;
      continue;
    }
    const close = text.indexOf("\n", end);
    const parsed = parseBlock(begin[1] ?? "", text.slice(begin.index, close === -1 ? undefined : close));
    if ("problem" in parsed) problems.push(parsed.problem);
    else certificates.push(parsed.pem);
    at = close;
    if (at === -1) break;
  }
  return { pem: certificates.join(""), count: certificates.length, problems };
}

function parseBlock(type: string, block: string): { readonly pem: string } | { readonly problem: string } {
  if (!CERTIFICATE_TYPES.has(type)) return { problem: `invalid PEM block type ${type}` };
  try {
    const der = parsePem(block)[0]?.der ?? Buffer.alloc(0);
    // Our own reader: OpenSSL takes many times longer, and a system bundle of 150 certificates would block the event loop.
    parseCertificate(der);
    // RFC 5280 forbids them and Envoy's TLS library refuses the whole bundle for one.
    if (hasNegativeSerial(der)) return { problem: "x509: negative serial number" };
    return { pem: encodePem("CERTIFICATE", der) };
  } catch {
    return { problem: "failed to parse X.509 certificate" };
  }
}

function hasNegativeSerial(der: Buffer): boolean {
  const body = new DerReader(der).sequence().sequence();
  body.optional(VERSION_TAG);
  return ((body.expect(TAG.integer).content[0] ?? 0) & 0x80) !== 0;
}
