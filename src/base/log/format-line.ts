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
  columns.push(escapeMessage(line.message));
  const labels = Object.entries(line.fields).filter(([, value]) => value !== undefined);
  if (labels.length > 0)
    columns.push(labels.map(([key, value]) => `${key}=${escapeValue(formatValue(value))}`).join(" "));
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

// Line separators of Unicode count: terminals and log viewers break lines at them.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const CONTROLS_BUT_LAYOUT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
/** What every line of this log begins with. */
const LINE_START = /\n(?=\d{4}-\d\d-\d\dT)/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Values come from peers (a NACK's text, a pod's name): none of them starts a line, a column or a terminal sequence. */
function escapeValue(text: string): string {
  return text.replace(CONTROLS, escapeCharacter);
}

/** Messages may have several lines (a configuration, a rule set). A line inside one that looks like a log line is indented. */
function escapeMessage(text: string): string {
  return text.replace(CONTROLS_BUT_LAYOUT, escapeCharacter).replace(LINE_START, "\n\t");
}

function escapeCharacter(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
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
