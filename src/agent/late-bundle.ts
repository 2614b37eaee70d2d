import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { SecretManager } from "../identity/index.ts";

type Bundle = readonly string[];
type BundleOwner = Pick<SecretManager, "setConfigTrustBundle">;

/** Trust anchors that the control plane sends; those that come before their owner are kept for it. */
export interface LateBundle {
  /** Throws what the owner throws. */
  set(anchors: Bundle): void;
  attach(owner: BundleOwner): void;
}

export function createLateBundle(log: Logger): LateBundle {
  let owner: BundleOwner | undefined;
  let early: Bundle | undefined;
  return {
    set(anchors) {
      if (owner === undefined) early = anchors;
      else owner.setConfigTrustBundle(anchors);
    },
    attach(found) {
      owner = found;
      if (early === undefined) return;
      try {
        found.setConfigTrustBundle(early);
      } catch (failure) {
        log.error(`trust anchors of the control plane are not used: ${errorMessage(failure)}`);
      }
    },
  };
}
