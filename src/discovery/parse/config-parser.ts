import { tryParseYaml } from "../../files/yaml/parse-yaml.ts";
import type { DecodeOptions } from "../../istio-api/decode/decode-object.ts";
import { type DocumentResult, readDocument } from "../../istio-api/decode/parse-config-text.ts";

/** Reads text that others write. Rejects only when the parser itself fails; what is wrong with the text is in the result. */
export interface ConfigParser {
  /** One document of rules, strict profile. */
  readDocument(text: string, options: DecodeOptions): Promise<DocumentResult>;
  /** The first document as JSON data, Go profile. */
  parseYaml(text: string): Promise<ParsedYaml>;
}

export interface ParsedYaml {
  readonly document: unknown;
  readonly fault?: { readonly message: string };
}

/** In the calling thread. */
export const DIRECT_PARSER: ConfigParser = {
  readDocument: async (text, options) => readDocument(text, options),
  parseYaml: async (text) => {
    const { document, fault } = await tryParseYaml(text);
    return fault === undefined ? { document } : { document, fault: { message: fault.message } };
  },
};
