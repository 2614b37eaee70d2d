import type { LogFields, Logger } from "../../src/base/logger.ts";

export interface RecordedLine {
  readonly scope: string;
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

export interface RecordedLog extends Logger {
  readonly lines: readonly RecordedLine[];
  /** Each line as its level and message. */
  texts(): string[];
  /** Everything in one text, to look for what must not be there. */
  text(): string;
}

/** A logger that keeps what it was told. */
export function recordLog(): RecordedLog {
  const lines: RecordedLine[] = [];
  const make = (scope: string, base: LogFields): RecordedLog => {
    const at =
      (level: string) =>
      (message: string, fields: LogFields = {}) =>
        void lines.push({ scope, level, message, fields: { ...base, ...fields } });
    return {
      lines,
      texts: () => lines.map(({ level, message }) => `${level} ${message}`),
      text: () =>
        lines.map((line) => `${line.scope} ${line.level} ${line.message} ${JSON.stringify(line.fields)}`).join("\n"),
      enabled: () => true,
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
