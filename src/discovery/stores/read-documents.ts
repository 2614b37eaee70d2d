import type { DocumentResult } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigParser, ParsedDocument } from "../parse/config-parser.ts";

/** The texts themselves are let go: a large mesh would be in memory twice. */
export interface ReadDocument extends ParsedDocument {
  readonly result: DocumentResult;
}

/** The documents of a text; only those are decoded that were not there before. */
export async function readDocuments(
  bytes: Uint8Array,
  known: readonly ReadDocument[],
  { parser, defaultNamespace }: { readonly parser: ConfigParser; readonly defaultNamespace: string },
): Promise<readonly ReadDocument[]> {
  const results = new Map(known.map(({ digest, result }) => [digest, result]));
  const parsed = await parser.readDocuments(bytes, { defaultNamespace, known: [...results.keys()] });
  return parsed.flatMap((document) => {
    const result = document.result ?? results.get(document.digest);
    return result === undefined ? [] : [{ ...document, result }];
  });
}
