import type { KeyObject } from "node:crypto";
import { SignError } from "../ca-server-error.ts";

const CURVES = new Set(["prime256v1", "secp384r1", "secp521r1"]);
const MIN_RSA_BITS = 2048;
/** Larger keys only make every peer's handshake slow. */
const MAX_RSA_BITS = 8192;

/** Refuses keys that nobody should trust, or that cost every verifier dearly. */
export function checkKeyStrength(key: KeyObject): void {
  const details = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "rsa": {
      const bits = details.modulusLength ?? 0;
      if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
        throw weak(`RSA key of ${bits} bits, allowed are ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`);
      }
      const exponent = details.publicExponent ?? 0n;
      if (exponent < 65537n) throw weak(`RSA key with public exponent ${exponent}, the least allowed is 65537`);
      return;
    }
    case "ec": {
      const curve = details.namedCurve ?? "unknown";
      if (!CURVES.has(curve)) throw weak(`elliptic curve ${curve}, allowed are P-256, P-384 and P-521`);
      return;
    }
    case "ed25519":
      return;
    default:
      throw weak(`key of type ${key.asymmetricKeyType}, allowed are RSA, ECDSA and Ed25519`);
  }
}

function weak(what: string): SignError {
  return new SignError("CSR_ERROR", `CSR has an unacceptable key: ${what}`);
}
