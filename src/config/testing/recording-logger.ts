import { recordLog } from "../../../test/support/ca-log.ts";
import type { Logger } from "../../base/logger.ts";

/** A logger whose lines a test can read: `level message` with the fields as JSON behind, when there are any. */
export function recordingLogger(): { readonly log: Logger; readonly lines: string[] } {
  const log = recordLog();
  return { log, lines: log.printed };
}
