/** What the process edge needs, as one piece of code to load. */
export { errorCode } from "../base/coded-error.ts";
export { createLog } from "../base/log/log.ts";
export { openLogTarget } from "../base/log/log-targets.ts";
export { createWallClock } from "../base/wall-clock.ts";
export { COMMANDS } from "./commands/list.ts";
export { runCli } from "./framework/run-cli.ts";
