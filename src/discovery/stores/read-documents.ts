import { createHash } from "node:crypto";
import { type DocumentText, splitDocuments } from "../../files/yaml/split-documents.ts";
import type { DocumentResult } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigParser } from "../parse/config-parser.ts";

export interface ReadDocument extends Pick<DocumentText, "linesBefore"> {
  /** Of its text. The texts themselves are let go: a large mesh would be in memory twice. */
  readonly digest: string;
  readonly result: DocumentResult;
}

/** The documents of a text; only those are decoded that were not there before. */
export async function readDocuments(
  text: string,
  known: readonly ReadDocument[],
  parse: (document: string) => ReturnType<ConfigParser["readDocument"]>,
): Promise<readonly ReadDocument[]> {
  const results = new Map(known.map(({ digest, result }) => [digest, result]));
  const documents: ReadDocument[] = [];
  for (const piece of splitDocuments(text)) {
    const digest = createHash("sha256").update(piece.text).digest("base64");
    const result = results.get(digest) ?? (await parse(piece.text));
    documents.push({ digest, linesBefore: piece.linesBefore, result });
  }
  return documents;
}
