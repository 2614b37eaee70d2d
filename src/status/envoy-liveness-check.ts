import { errorCode } from "../base/coded-error.ts";
import type { ReadinessCheck } from "./readiness.ts";

/** What the check needs of Envoy's admin client. Rejects with code "timeout" when there is no answer in time. */
export interface LivenessSource {
  ready(): Promise<{ readonly isLive: boolean; readonly state: string }>;
}

const SILENT_LOOKS = 2;

/**
 * Objects to an Envoy that once was ready and now is drained, or alive without answering. One missed answer may be a busy moment; a
 * refused connection is none of its business, since the admin port moves between processes in a hot restart.
 */
export function envoyLivenessCheck(envoy: LivenessSource): ReadinessCheck {
  let silent = 0;
  return async () => {
    try {
      const { state } = await envoy.ready();
      silent = 0;
      return state === "DRAINING" ? "server is not live, current state is: DRAINING" : undefined;
    } catch (thrown) {
      silent = errorCode(thrown) === "timeout" ? silent + 1 : 0;
      return silent >= SILENT_LOOKS ? "Envoy does not answer on its admin port" : undefined;
    }
  };
}
