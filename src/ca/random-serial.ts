import { randomBytes } from "node:crypto";

/** 128 bits: no two certificates of an issuer have the same, without a list of those that were given out. */
export function randomSerial(): Uint8Array {
  return randomBytes(16);
}
