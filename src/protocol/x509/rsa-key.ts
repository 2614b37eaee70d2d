import {
  createPrivateKey,
  createPublicKey,
  generatePrime,
  type KeyPairKeyObjectResult,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import { X509Error } from "./x509-error.ts";

const EXPONENT = 65537n;
const primeOnPool = promisify(
  (bits: number, done: (failure: Error | undefined, prime: bigint) => void) =>
    void generatePrime(bits, { bigint: true }, (failure, prime) => done(failure ?? undefined, prime)),
);

const signOnPool = promisify(sign);
const verifyOnPool = promisify(verify);

/**
 * An RSA key from two primes that are searched for side by side on libuv's thread pool. OpenSSL's own generator builds each prime from
 * auxiliary ones, one after the other: four times as long for 2048 bits (bench/ready), and the agent's start waits for this key.
 * The primes are OpenSSL's: its private random generator, both top bits set, 64 Miller-Rabin rounds (128 above 2048 bits), where FIPS
 * 186-5 (table B.1) asks for 5 at most. The conditions of its section A.1.3 are checked here.
 */
export async function generateRsaKey(bits: number): Promise<KeyPairKeyObjectResult> {
  const half = bits / 2;
  const usable = async (): Promise<bigint> => {
    for (;;) {
      const prime = await primeOnPool(half);
      // The exponent is prime, so p - 1 shares a factor with it only as a multiple of it.
      if ((prime - 1n) % EXPONENT !== 0n) return prime;
    }
  };
  for (;;) {
    const [first, second] = await Promise.all([usable(), usable()]);
    const [p, q] = first > second ? [first, second] : [second, first];
    const lambda = ((p - 1n) * (q - 1n)) / greatestCommonDivisor(p - 1n, q - 1n);
    const d = inverseOfExponent(lambda);
    const isFarApart = p - q > 1n << BigInt(half - 100);
    if (isFarApart && d > 1n << BigInt(half) && bitLength(p * q) === bits) return assemble(p, q, d);
  }
}

async function assemble(p: bigint, q: bigint, d: bigint): Promise<KeyPairKeyObjectResult> {
  const number = (value: bigint) => {
    const hex = value.toString(16);
    return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
  };
  const key = {
    kty: "RSA",
    n: number(p * q),
    e: number(EXPONENT),
    d: number(d),
    p: number(p),
    q: number(q),
    dp: number(d % (p - 1n)),
    dq: number(d % (q - 1n)),
    qi: number(inverse(q, p)),
  };
  const privateKey = createPrivateKey({ key, format: "jwk" });
  const publicKey = createPublicKey(privateKey);
  // The pairwise consistency test of FIPS 140: a key that does not verify its own signature never leaves this function.
  const message = Buffer.from("pairwise consistency");
  if (!(await verifyOnPool("sha256", message, publicKey, await signOnPool("sha256", message, privateKey)))) {
    throw new X509Error("bad-key", "a generated RSA key does not verify its own signature");
  }
  return { privateKey, publicKey };
}

/** 1/e modulo m without dividing large numbers by large numbers: the one multiple of m that makes 1 + k·m divisible by e. */
function inverseOfExponent(modulus: bigint): bigint {
  const k = EXPONENT - inverse(modulus % EXPONENT, EXPONENT);
  return (1n + k * modulus) / EXPONENT;
}

/** Of `value` modulo `modulus`; they have no common factor (extended Euclid). */
function inverse(value: bigint, modulus: bigint): bigint {
  let [r, nextR, t, nextT] = [modulus, value % modulus, 0n, 1n];
  while (nextR !== 0n) {
    const quotient = r / nextR;
    [r, nextR] = [nextR, r - quotient * nextR];
    [t, nextT] = [nextT, t - quotient * nextT];
  }
  return t < 0n ? t + modulus : t;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b];
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
