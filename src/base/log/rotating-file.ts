import { closeSync, fstatSync, openSync, readdirSync, renameSync, statSync, unlinkSync, writeSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { describeSystemError, type LogTarget } from "./log-targets.ts";
import { LogOptionError } from "./scope-levels.ts";

export interface RotationOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** 0 keeps backups for ever. */
  readonly maxAgeDays: number;
  /** 0 keeps any number of backups. */
  readonly maxBackups: number;
  readonly now: () => number;
}

const DAY_MS = 86_400_000;

/** A file that is renamed to `name-TIME.ext` when a line would push it over its limit; old backups go by count and by age. */
export function openRotatingFile(options: RotationOptions): LogTarget {
  let descriptor = open(options.path);
  let size = fstatSync(descriptor).size;
  const rotate = () => {
    renameSync(options.path, backupName(options.path, options.now()));
    const fresh = open(options.path);
    // Closed only now: a rotation that fails must not leave a number that the next opened file or socket gets.
    closeSync(descriptor);
    descriptor = fresh;
    size = 0;
    prune(options);
  };
  return {
    write(line) {
      const bytes = Buffer.from(line);
      if (bytes.length > options.maxBytes) {
        throw new LogOptionError(
          "unusable-target",
          `write length ${bytes.length} exceeds maximum file size ${options.maxBytes}`,
        );
      }
      if (size + bytes.length > options.maxBytes) rotate();
      size += writeSync(descriptor, bytes);
    },
    close: () => closeSync(descriptor),
  };
}

function open(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (cause) {
    throw new LogOptionError("unusable-target", `open sink "${path}": open ${path}: ${describeSystemError(cause)}`, {
      cause,
    });
  }
}

function backupName(path: string, nowMs: number): string {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  const time = new Date(nowMs).toISOString().slice(0, 23).replaceAll(":", "-");
  return `${stem}-${time}${extension}`;
}

/** The time is in the name, so names sort by age. */
function prune(options: RotationOptions): void {
  const extension = extname(options.path);
  const stem = basename(options.path, extension);
  const pattern = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;
  const backups = readdirSync(dirname(options.path))
    .filter((name) => name.startsWith(`${stem}-`) && name.endsWith(extension))
    .filter((name) => pattern.test(name.slice(stem.length + 1, name.length - extension.length)))
    .sort()
    .reverse()
    .map((name) => join(dirname(options.path), name));
  const tooMany = options.maxBackups === 0 ? [] : backups.slice(options.maxBackups);
  const oldest = options.now() - options.maxAgeDays * DAY_MS;
  const tooOld = options.maxAgeDays === 0 ? [] : backups.filter((path) => statSync(path).mtimeMs < oldest);
  for (const path of new Set([...tooMany, ...tooOld])) unlinkSync(path);
}
