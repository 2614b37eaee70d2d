import { type Field, int64, map, message, nested, repeatedString, string } from "./message.ts";
import { WIRE_BYTES } from "./wire-reader.ts";

/** istio.v1.auth: one method, the certificate signing protocol of istiod. */
export const CREATE_CERTIFICATE_PATH = "/istio.v1.auth.IstioCertificateService/CreateCertificate";

/** A member of a oneof is sent even when it is empty: its presence says which kind of value it is. */
const oneofString = (number: number): Field<string | undefined> => ({
  number,
  absent: () => undefined,
  write: (writer, value) => {
    if (value !== undefined) writer.string(number, value);
  },
  read: (reader, wire) => (wire === WIRE_BYTES ? reader.string() : undefined),
});

/** google.protobuf.Value as far as this protocol uses it: text. Other kinds read as undefined. */
const textValue = message({ stringValue: oneofString(3) });

/** google.protobuf.Struct of texts. */
const textStruct = message({ fields: map(1, nested(2, textValue)) });

export const istioCertificateRequest = message({
  /** PEM */
  csr: string(1),
  /** Seconds; the CA's default when zero or negative. */
  validityDuration: int64(3),
  metadata: nested(4, textStruct),
});

export const istioCertificateResponse = message({
  /** PEM, leaf first, root last. */
  certChain: repeatedString(1),
});

/** The request's metadata from plain texts. */
export function requestMetadata(texts: Readonly<Record<string, string>>): {
  fields: ReadonlyMap<string, { stringValue: string }>;
} {
  return { fields: new Map(Object.entries(texts).map(([key, stringValue]) => [key, { stringValue }])) };
}

/** One text of the request's metadata; empty when it is missing or of another kind. */
export function requestMetadataText(
  metadata:
    | { readonly fields?: ReadonlyMap<string, { readonly stringValue?: string | undefined } | undefined> }
    | undefined,
  key: string,
): string {
  return metadata?.fields?.get(key)?.stringValue ?? "";
}
