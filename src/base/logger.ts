/** From most to least verbose. `none` is a threshold only, never the level of a message. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "fatal", "none"] as const;

export type LogThreshold = (typeof LOG_LEVELS)[number];
export type LogLevel = Exclude<LogThreshold, "none">;

/** Ordered labels; insertion order is print order. Durations and times are passed as text. */
export type LogFields = Readonly<Record<string, unknown>>;

/** One named source of log lines. Messages are constant text plus fields; what varies goes into the fields. */
export interface Logger {
  /** Cheap check for callers whose message is costly to build. */
  enabled(level: LogLevel): boolean;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  fatal(message: string, fields?: LogFields): void;
  /** A logger of another scope that writes to the same targets. */
  scope(name: string): Logger;
  /** Adds fields to every line. */
  with(fields: LogFields): Logger;
}

/** Swallows everything; for tests and for callers that were given no logger. */
export const silentLogger: Logger = {
  enabled: () => false,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  scope: () => silentLogger,
  with: () => silentLogger,
};
