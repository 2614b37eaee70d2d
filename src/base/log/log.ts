import { errorMessage } from "../coded-error.ts";
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel, type LogThreshold } from "../logger.ts";
import { formatJsonLine, formatTextLine, formatTime } from "./format-line.ts";
import { createRepeatLimit } from "./limit-repeats.ts";
import { type LogTarget, openLogTarget } from "./log-targets.ts";
import type { ScopeLevels } from "./scope-levels.ts";

/** Frames of this folder are the logger itself, not its caller. Bundled frames carry their source's path once source maps are on. */
const OWN_FRAMES = /[/\\]base[/\\]log[/\\](log|call-site)\.ts/;

/** What the logging flags say, already parsed. */
export interface LogSettings {
  readonly json: boolean;
  readonly outputLevels: ScopeLevels;
  readonly stackLevels: ScopeLevels;
  /** Scopes whose lines name their caller; "all" for every scope. */
  readonly callerScopes: ReadonlySet<string>;
  readonly targets: readonly LogTarget[];
}

/** All scopes of one process. Settings may be replaced at any time; loggers handed out before follow. */
export interface Log {
  readonly logger: Logger;
  /** The targets of the previous settings are closed. */
  configure(settings: LogSettings): void;
  /** Run-time change of one scope; `all` for every scope. */
  setLevel(scope: string, threshold: LogThreshold): void;
  levels(): ScopeLevels;
  close(): void;
}

const rank = (level: LogThreshold) => LOG_LEVELS.indexOf(level);
const NO_FIELDS: LogFields = {};
/** How long after the first line that was left out its count is written, unless an equal line brings it before. */
const REPORT_MS = 10_000;

/** Without settings: text at info and above on stdout. `onFatal` ends the process after a fatal line. */
export function createLog(now: () => number, onFatal: () => void = () => undefined): Log {
  let settings: LogSettings = {
    json: false,
    outputLevels: new Map(),
    stackLevels: new Map(),
    callerScopes: new Set(),
    targets: [openLogTarget("stdout")],
  };
  const overrides = new Map<string, LogThreshold>();

  const threshold = (scope: string) => overrides.get(scope) ?? settings.outputLevels.get(scope) ?? "info";
  const isOn = (scope: string, level: LogLevel) => rank(level) >= rank(threshold(scope));

  const repeats = createRepeatLimit();
  let report: NodeJS.Timeout | undefined;

  const emit = (scope: string, level: LogLevel, message: string, fields: LogFields) => {
    if (isOn(scope, level)) emitUnlessRepeated(scope, level, message, fields);
    if (level === "fatal") onFatal();
  };

  const emitUnlessRepeated = (scope: string, level: LogLevel, message: string, fields: LogFields) => {
    // Who switches debug on wants every line; a fatal one is the last.
    if (level === "debug" || level === "fatal") return write(scope, level, message, fields);
    const verdict = repeats.check(scope, level, message, now());
    if (verdict.write) {
      return write(
        scope,
        level,
        message,
        verdict.suppressed === 0 ? fields : { ...fields, suppressed: verdict.suppressed },
      );
    }
    report ??= setTimeout(reportSuppressed, REPORT_MS).unref();
  };

  const reportSuppressed = () => {
    clearTimeout(report);
    report = undefined;
    for (const { scope, level, message, count } of repeats.takeSuppressed())
      write(scope, level, message, { suppressed: count });
  };

  const write = (scope: string, level: LogLevel, message: string, fields: LogFields) => {
    const stackFrom = settings.stackLevels.get(scope) ?? "none";
    const line = {
      timeMs: now(),
      level,
      scope: scope === "default" ? "" : scope,
      caller: settings.callerScopes.has(scope) || settings.callerScopes.has("all") ? callerOf() : undefined,
      message,
      fields,
      stack: rank(level) >= rank(stackFrom) ? stackOf() : undefined,
    };
    const text = settings.json ? formatJsonLine(line) : formatTextLine(line);
    for (const target of settings.targets) writeOrComplain(target, text, now);
  };

  const loggerOf = (scope: string, base: LogFields): Logger => {
    const at = (level: LogLevel) => (message: string, fields?: LogFields) =>
      emit(scope, level, message, fields === undefined ? base : { ...base, ...fields });
    return {
      enabled: (level) => isOn(scope, level),
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      fatal: at("fatal"),
      scope: (name) => loggerOf(name, base),
      with: (fields) => loggerOf(scope, { ...base, ...fields }),
    };
  };

  return {
    logger: loggerOf("default", NO_FIELDS),
    configure(next) {
      reportSuppressed();
      for (const target of settings.targets) target.close();
      settings = next;
      overrides.clear();
    },
    setLevel(scope, level) {
      if (scope === "all") for (const name of settings.outputLevels.keys()) overrides.set(name, level);
      else overrides.set(scope, level);
    },
    levels: () => new Map([...settings.outputLevels, ...overrides]),
    close() {
      reportSuppressed();
      for (const target of settings.targets) target.close();
    },
  };
}

/** A full disk or a closed pipe must not end the agent; stderr is the last place to say so. */
function writeOrComplain(target: LogTarget, text: string, now: () => number): void {
  try {
    target.write(text);
  } catch (thrown) {
    try {
      openLogTarget("stderr").write(`${formatTime(now())} log write error: ${errorMessage(thrown)}\n`);
    } catch {
      // There is no other target left.
    }
  }
}

/** `dir/file:line` of the code that logs. */
function callerOf(): string | undefined {
  for (const frame of frames()) {
    const [, path = "", line = ""] = /\(?([^()\s]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (path !== "") return `${path.split(/[/\\]/).slice(-2).join("/")}:${line}`;
  }
  return undefined;
}

function stackOf(): string {
  return frames().join("\n");
}

function frames(): string[] {
  const lines = (new Error("call site").stack ?? "").split("\n").slice(1);
  const outer = lines.filter((line) => !OWN_FRAMES.test(line));
  return outer.map((line) => line.trim());
}
