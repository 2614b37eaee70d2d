import type { LogFields, Logger, LogLevel } from "../../base/logger.ts";

/** A logger whose lines a test can read: `level message` with the fields as JSON behind, when there are any. */
export function recordingLogger(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (level: LogLevel) => (message: string, fields?: LogFields) => {
    lines.push(fields === undefined ? `${level} ${message}` : `${level} ${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = {
    enabled: () => true,
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    scope: () => log,
    with: () => log,
  };
  return { log, lines };
}
