import { CaMaterialError } from "../ca-server-error.ts";
import type { TtlLimits } from "./leaf-ttl.ts";
import type { SigningMaterial } from "./signing-material.ts";

/** The configured limits, with the default lowered to what is left of the chain: asked anew each time, so a reload counts. */
export function currentLimits(configured: TtlLimits, material: SigningMaterial, now: Date): TtlLimits {
  const { chainHead } = material;
  if (chainHead === undefined) return configured;
  const leftMs = chainHead.notAfter.getTime() - now.getTime();
  if (leftMs <= 0) throw new CaMaterialError("expired", "failed to get default cert TTL cert chain has expired");
  return { ...configured, defaultMs: Math.min(configured.defaultMs, leftMs) };
}
