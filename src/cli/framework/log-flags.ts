import type { LogSettings } from "../../base/log/log.ts";
import { openLogTarget } from "../../base/log/log-targets.ts";
import { openRotatingFile } from "../../base/log/rotating-file.ts";
import { AGENT_SCOPES, applyScopeLevels, scopesAt } from "../../base/log/scope-levels.ts";
import type { FlagSpec, FlagValues } from "./flags.ts";

const SCOPE_LIST = `[${AGENT_SCOPES.join(", ")}]`;
const LEVEL_HELP = `can be one of [debug, info, warn, error, fatal, none] and scope can be one of ${SCOPE_LIST}`;
const MEGABYTE = 1024 * 1024;
/** The reference's default, 104857600 MB, never rotates; this is the limit its authors meant, in megabytes. */
const DEFAULT_MAX_SIZE = 100;

/** Flags every command takes, before or after its name. */
export const LOG_FLAGS: readonly FlagSpec[] = [
  {
    name: "log_as_json",
    type: "bool",
    default: false,
    usage: "Whether to format output as JSON or in plain console-friendly format",
  },
  {
    name: "log_caller",
    type: "string",
    default: "",
    usage: `Comma-separated list of scopes for which to include caller information, scopes can be any of ${SCOPE_LIST}`,
  },
  {
    name: "log_output_level",
    type: "string",
    default: "",
    usage: `Comma-separated minimum per-scope logging level of messages to output, in the form of <scope>:<level>,<scope>:<level>,... where level ${LEVEL_HELP}`,
  },
  { name: "log_rotate", type: "string", default: "", usage: "The path for the optional rotating log file" },
  {
    name: "log_rotate_max_age",
    type: "int",
    default: 30,
    usage: "The maximum age in days of a log file beyond which the file is rotated (0 indicates no limit)",
  },
  {
    name: "log_rotate_max_backups",
    type: "int",
    default: 1000,
    usage: "The maximum number of log file backups to keep before older files are deleted (0 indicates no limit)",
  },
  {
    name: "log_rotate_max_size",
    type: "int",
    default: DEFAULT_MAX_SIZE,
    usage: "The maximum size in megabytes of a log file beyond which the file is rotated",
  },
  {
    name: "log_stacktrace_level",
    type: "string",
    default: "default:none",
    usage: `Comma-separated minimum per-scope logging level at which stack traces are captured, in the form of <scope>:<level>,<scope:level>,... where level ${LEVEL_HELP}`,
  },
  {
    name: "log_target",
    type: "stringArray",
    default: ["stdout"],
    usage:
      "The set of paths where to output the log. This can be any path as well as the special values stdout and stderr",
  },
  {
    name: "vklog",
    type: "int",
    default: 0,
    usage: "number for the log level verbosity. Like -v flag. ex: --vklog=9",
  },
];

/** Opens the targets; throws a LogOptionError for a level or target that cannot be used, with nothing left open. */
export function readLogSettings(flags: FlagValues, now: () => number): LogSettings {
  const verbose = flags.int("vklog") !== 0 ? ",klog:debug" : "";
  const outputLevels = applyScopeLevels(scopesAt("info"), `default:info,grpc:none${verbose}`);
  const requested = applyScopeLevels(outputLevels, flags.string("log_output_level"));
  const stackLevels = applyScopeLevels(scopesAt("none"), flags.string("log_stacktrace_level"));
  const callerScopes = new Set(
    flags
      .string("log_caller")
      .split(",")
      .filter((scope) => scope !== ""),
  );
  const targets = [];
  try {
    for (const name of flags.stringArray("log_target")) targets.push(openLogTarget(name));
    if (flags.string("log_rotate") !== "") {
      targets.push(
        openRotatingFile({
          path: flags.string("log_rotate"),
          // Zero is the flag's way to say that the usual limit is good; below zero nothing could be written at all.
          maxBytes: Math.max(flags.int("log_rotate_max_size"), 0) * MEGABYTE || DEFAULT_MAX_SIZE * MEGABYTE,
          maxAgeDays: flags.int("log_rotate_max_age"),
          maxBackups: flags.int("log_rotate_max_backups"),
          now,
        }),
      );
    }
  } catch (thrown) {
    for (const target of targets) target.close();
    throw thrown;
  }
  return { json: flags.bool("log_as_json"), outputLevels: requested, stackLevels, callerScopes, targets };
}
