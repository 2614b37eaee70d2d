import { wait } from "../base/wait.ts";
import type { AdminClient } from "./admin-client.ts";

const INTERVAL_MS = 100;

/** True once the admin interface is this epoch's and it is LIVE; false when the process went first. */
export async function pollUntilLive(
  admin: Pick<AdminClient, "serverInfo">,
  epoch: number,
  gone: AbortSignal,
): Promise<boolean> {
  while (!gone.aborted) {
    try {
      const info = await admin.serverInfo();
      if (info.restartEpoch === epoch && info.state === "LIVE") return !gone.aborted;
    } catch {
      // Not listening yet, or just handed over from the previous epoch.
    }
    await wait(INTERVAL_MS, gone);
  }
  return false;
}
