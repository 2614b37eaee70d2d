/**
 * A key set that rejects every token: a point of the curve P-256 whose x is a hash of `NOTHING_SIGNED`, so that nobody can know the private
 * key that belongs to it. A set without keys would not do: Envoy refuses it together with the listener.
 */
export const UNKNOWN_KEY = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      alg: "ES256",
      use: "sig",
      kid: "unknown",
      x: "QEk7czyaWHuFdRgxwCcAIBZ5oSoTWMD4pJmNdtFXO6g",
      y: "btmFKPMtCGxVYoVkuJvF2LopsXmOleM-J4pplZBc55c",
    },
  ],
});

/** The first text with a number at its end whose SHA-256 is the x of a point. */
export const NOTHING_SIGNED = "no token is signed with this key 3";
