import { createHash } from "node:crypto";
import { tryParseYaml } from "../../files/yaml/parse-yaml.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import type { DecodeOptions } from "../../istio-api/decode/decode-object.ts";
import { type DocumentResult, readDocument } from "../../istio-api/decode/parse-config-text.ts";

/** Reads text that others write. Rejects only when the parser itself fails; what is wrong with the text is in the result. */
export interface ConfigParser {
  /** The documents of rules in UTF-8 text, strict profile. */
  readDocuments(bytes: Uint8Array, options: ReadOptions): Promise<readonly ParsedDocument[]>;
  /** The first document as JSON data, Go profile. */
  parseYaml(text: string): Promise<ParsedYaml>;
  /** Requests under way and later ones reject with the code `stopped`. */
  stop?(): Promise<void>;
}

export interface ReadOptions extends DecodeOptions {
  /** Digests of documents whose result the caller has. */
  readonly known?: readonly string[];
}

export interface ParsedDocument {
  /** Of its text. */
  readonly digest: string;
  readonly linesBefore: number;
  /** Where its content begins, in the whole text. */
  readonly line: number;
  /** Absent for a known digest. */
  readonly result?: DocumentResult;
}

export interface ParsedYaml {
  readonly document: unknown;
  readonly fault?: { readonly message: string };
}

/** The texts themselves are let go: a large mesh would be in memory twice. */
export interface ReadDocument extends ParsedDocument {
  readonly result: DocumentResult;
}

/** The documents of a text; only those are decoded that were not there before. */
export async function readDocuments(
  bytes: Uint8Array,
  before: readonly ReadDocument[],
  { parser, defaultNamespace }: { readonly parser: ConfigParser; readonly defaultNamespace: string },
): Promise<readonly ReadDocument[]> {
  const results = new Map(before.map(({ digest, result }) => [digest, result]));
  const parsed = await parser.readDocuments(bytes, { defaultNamespace, known: [...results.keys()] });
  return parsed.flatMap((document) => {
    const result = document.result ?? results.get(document.digest);
    return result === undefined ? [] : [{ ...document, result }];
  });
}

/** In the calling thread. */
export const DIRECT_PARSER: ConfigParser = {
  readDocuments: async (bytes, options) => [...parseDocuments(bytes, options)],
  parseYaml: async (text) => {
    const { document, fault } = await tryParseYaml(text);
    return fault === undefined ? { document } : { document, fault: { message: fault.message } };
  },
};

/** A text may have a problem on each line; whoever mends it does not read more than these. */
const MAX_PROBLEMS = 100;

/** One after the other, so that only one is taken apart at a time. */
export function* parseDocuments(bytes: Uint8Array, options: ReadOptions): Generator<ParsedDocument, void> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  const known = new Set(options.known);
  for (const document of splitDocuments(text)) yield parseDocument(document, known, options);
}

export function parseDocument(
  { text, linesBefore }: { readonly text: string; readonly linesBefore: number },
  known: ReadonlySet<string>,
  { known: _, ...options }: ReadOptions,
): ParsedDocument {
  const digest = digestOf(text);
  const line = linesBefore + firstLine(text);
  if (known.has(digest)) return { digest, linesBefore, line };
  return { digest, linesBefore, line, result: withFewProblems(readDocument(text, options)) };
}

/** Neither blank nor a comment, a directive or the mark between documents. */
const BEFORE_CONTENT = /^(?:\s*(?:#.*)?|%.*|---\s*(?:#.*)?)$/;

function firstLine(text: string): number {
  let line = 1;
  for (let start = 0; start < text.length; line += 1) {
    const end = text.indexOf("\n", start);
    const stop = end === -1 ? text.length : end;
    if (!BEFORE_CONTENT.test(text.slice(start, stop))) return line;
    start = stop + 1;
  }
  return 1;
}

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

function withFewProblems(result: DocumentResult): DocumentResult {
  // Errors first: a warning must not hide why an object is refused.
  const problems = result.problems.toSorted((a, b) => Number(b.severity === "error") - Number(a.severity === "error"));
  return problems.length <= MAX_PROBLEMS ? result : { ...result, problems: fewProblems(problems) };
}

/** The first ones, and a last one that says how many there are. */
export function fewProblems<Problem extends { readonly message: string; readonly field: string }>(
  problems: readonly Problem[],
): readonly Problem[] {
  const last = problems[MAX_PROBLEMS];
  if (last === undefined) return problems;
  const message = `${problems.length - MAX_PROBLEMS} more problems are not shown`;
  return [...problems.slice(0, MAX_PROBLEMS), { ...last, field: "", message }];
}
