import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from "../../../src/base/logger.ts";

export interface RecordedLine {
  readonly scope: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface RecordedLog extends Logger {
  readonly lines: readonly RecordedLine[];
  /** The same lines as `level message {fields}`, the fields only where there are some. */
  readonly printed: string[];
  /** Each line as its level and message. */
  texts(): string[];
  /** Everything in one text, to look for what must not be there. */
  text(): string;
}

/** A logger that records its lines, from the level `least` on. */
export function recordLog(least: LogLevel = "debug"): RecordedLog {
  const lines: RecordedLine[] = [];
  const printed: string[] = [];
  const enabled = (level: LogLevel) => LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
  const make = (scope: string, base: LogFields): RecordedLog => {
    const at =
      (level: LogLevel) =>
      (message: string, given: LogFields = {}) => {
        if (!enabled(level)) return;
        const fields = { ...base, ...given };
        lines.push({ scope, level, message, fields });
        printed.push([level, message, ...(Object.keys(fields).length > 0 ? [JSON.stringify(fields)] : [])].join(" "));
      };
    return {
      lines,
      printed,
      texts: () => lines.map(({ level, message }) => `${level} ${message}`),
      text: () =>
        lines.map((line) => `${line.scope} ${line.level} ${line.message} ${JSON.stringify(line.fields)}`).join("\n"),
      enabled,
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      fatal: at("fatal"),
      scope: (name) => make(name, base),
      with: (fields) => make(scope, { ...base, ...fields }),
    };
  };
  return make("default", {});
}
