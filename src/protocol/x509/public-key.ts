import { createPublicKey, type KeyObject } from "node:crypto";
import { DerReader } from "./der-reader.ts";

/** By the curve's object identifier: its JWK name and the length of a coordinate. */
const CURVES: ReadonlyMap<string, { readonly crv: string; readonly bytes: number }> = new Map([
  ["1.2.840.10045.3.1.7", { crv: "P-256", bytes: 32 }],
  ["1.3.132.0.34", { crv: "P-384", bytes: 48 }],
  ["1.3.132.0.35", { crv: "P-521", bytes: 66 }],
]);
const EC_PUBLIC_KEY = "1.2.840.10045.2.1";
const UNCOMPRESSED = 4;

/**
 * A key from its SubjectPublicKeyInfo. OpenSSL 3 searches long for a decoder of that form; points of the common curves go in as
 * coordinates, which lets a CA issue about a third more (bench/ca-issue). Throws OpenSSL's error for a bad key.
 */
export function parsePublicKey(der: Buffer): KeyObject {
  const point = pointOf(der);
  if (point === undefined) return createPublicKey({ key: der, format: "der", type: "spki" });
  const { crv, bytes, content } = point;
  const coordinate = (start: number) => content.subarray(start, start + bytes).toString("base64url");
  return createPublicKey({ key: { kty: "EC", crv, x: coordinate(1), y: coordinate(1 + bytes) }, format: "jwk" });
}

function pointOf(der: Buffer): { readonly crv: string; readonly bytes: number; readonly content: Buffer } | undefined {
  const parts = new DerReader(der).sequence();
  const algorithm = parts.sequence();
  if (algorithm.oid() !== EC_PUBLIC_KEY) return undefined;
  const curve = CURVES.get(algorithm.oid());
  const content = parts.bitString();
  parts.end();
  if (curve === undefined || content[0] !== UNCOMPRESSED || content.length !== 1 + 2 * curve.bytes) return undefined;
  return { ...curve, content };
}
