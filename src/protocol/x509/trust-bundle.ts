import type { Logger } from "../../base/logger.ts";
import { parseCertificate } from "./certificate.ts";
import { DerReader } from "./der-reader.ts";
import { TAG } from "./der-writer.ts";
import { encodePem, parsePem } from "./pem.ts";

/** The usable certificates of a bundle, re-encoded in file order, and what was wrong with the rest. */
export interface TrustBundle {
  readonly pem: string;
  readonly count: number;
  readonly problems: readonly BundleProblem[];
}

export interface BundleProblem {
  /** Of the PEM block in the file, from 1. */
  readonly position: number;
  readonly reason: string;
}

/** The explicitly tagged version in front of the serial number. */
const VERSION_TAG = 0xa0;
const MAX_SHOWN = 10;
const BEGIN = /-----BEGIN ([^\n-]*)-----/g;
/** All that TLS libraries read as a certificate to trust; the latter two are older spellings. */
const CERTIFICATE_TYPES: ReadonlySet<string> = new Set(["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]);

/**
 * The one reader of root certificates for every TLS connection and for Envoy: OpenSSL stops at the first bad certificate of a bundle,
 * and what follows it is not trusted. Here a bad certificate or a block of another type (a key) is left out and reported; so is a block
 * that was cut off before the next one begins. A last block without its end stops the scan but keeps what came before. Prose before and
 * between blocks is skipped. Not in net/, because it parses X.509, which is above it.
 */
export function parseTrustBundle(text: string): TrustBundle {
  const certificates: string[] = [];
  const problems: BundleProblem[] = [];
  const report = (reason: string) => problems.push({ position, reason });
  let position = 0;
  let at = 0;
  while (text.slice(at).trim() !== "") {
    BEGIN.lastIndex = at;
    const begin = BEGIN.exec(text);
    position += 1;
    const end = begin === null ? -1 : text.indexOf(`-----END ${begin[1]}-----`, BEGIN.lastIndex);
    if (begin === null || end === -1) {
      report("invalid PEM encoded certificate");
      break;
    }
    const next = text.lastIndexOf("-----BEGIN ", end);
    if (next > begin.index) {
      report("invalid PEM encoded certificate");
      position += text.slice(begin.index, next).split("-----BEGIN ").length - 2;
      at = next;
      continue;
    }
    const close = text.indexOf("\n", end);
    const parsed = parseBlock(begin[1] ?? "", text.slice(begin.index, close === -1 ? undefined : close));
    if ("problem" in parsed) report(parsed.problem);
    else certificates.push(parsed.pem);
    at = close;
    if (at === -1) break;
  }
  return { pem: certificates.join(""), count: certificates.length, problems };
}

/** Warns about what is left out of a bundle; again only when that changes, because bundles are read for every handshake. */
export function createBundleWarnings(log: Pick<Logger, "warn">): (path: string, bundle: TrustBundle) => void {
  let last = "";
  return (path, { problems }) => {
    const text = bundleProblemsText(problems);
    if (text !== "" && text !== last) log.warn(`some root certificates in ${path} are not used: ${text}`);
    last = text;
  };
}

/** One line that an operator finds the certificates by. */
export function bundleProblemsText(problems: readonly BundleProblem[]): string {
  const shown = problems.slice(0, MAX_SHOWN).map(({ position, reason }) => `certificate ${position}: ${reason}`);
  if (problems.length > MAX_SHOWN) shown.push(`and ${problems.length - MAX_SHOWN} more`);
  return shown.join(", ");
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
