import type { CommandEntry } from "./command.ts";

/** Every sub-command, loaded only when it is the one that runs. */
export const COMMANDS: readonly CommandEntry[] = [];
