import type { LogFields, LogLevel } from "../logger.ts";

/** Everything one log line may show. */
export interface LogLine {
  readonly timeMs: number;
  readonly level: LogLevel;
  /** Empty for the default scope. */
  readonly scope: string;
  readonly caller: string | undefined;
  readonly message: string;
  readonly fields: LogFields;
  readonly stack: string | undefined;
}

/** Tab-separated: time, level, [scope], [caller], message, [k=v k=v]; a stack trace follows on its own lines. */
export function formatTextLine(line: LogLine): string {
  const columns = [formatTime(line.timeMs), line.level];
  if (line.scope !== "") columns.push(line.scope);
  if (line.caller !== undefined) columns.push(line.caller);
  columns.push(line.message);
  const labels = Object.entries(line.fields).filter(([, value]) => value !== undefined);
  if (labels.length > 0) columns.push(labels.map(([key, value]) => `${key}=${formatValue(value)}`).join(" "));
  const text = `${columns.join("\t")}\n`;
  return line.stack === undefined ? text : `${text}${line.stack}\n`;
}

/** Keys in fixed order: level, time, scope, caller, msg, labels, stack. JSON.stringify leaves <, >, & and non-ASCII as they are. */
export function formatJsonLine(line: LogLine): string {
  const entries: [string, unknown][] = [
    ["level", line.level],
    ["time", formatTime(line.timeMs)],
  ];
  if (line.scope !== "") entries.push(["scope", line.scope]);
  if (line.caller !== undefined) entries.push(["caller", line.caller]);
  entries.push(["msg", line.message]);
  for (const [key, value] of Object.entries(line.fields)) {
    if (value !== undefined) entries.push([key, toJsonValue(value)]);
  }
  if (line.stack !== undefined) entries.push(["stack", line.stack]);
  // Written member by member: an object would reorder labels whose names are digits and merge those named like fixed keys.
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}\n`;
}

/** UTC with microseconds; the clock gives milliseconds and fractions of them. */
export function formatTime(timeMs: number): string {
  const micros = Math.round(timeMs * 1000);
  const fraction = String(micros % 1000).padStart(3, "0");
  return `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 23)}${fraction}Z`;
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatValue).join(" ")}]`;
  if (value instanceof Error) return value.message;
  if (typeof value === "object" && value !== null) return JSON.stringify(value) ?? String(value);
  return String(value);
}

function toJsonValue(value: unknown): unknown {
  if (value instanceof Error) return value.message;
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value) === undefined ? String(value) : value;
}
