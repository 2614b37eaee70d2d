import { errorMessage } from "../../base/coded-error.ts";
import type { CommandContext } from "../framework/command.ts";

/** Of command lines that cannot be understood, as istioctl has it. */
export const USAGE_EXIT_CODE = 64;

/** Exit code 1 and the message, nothing more: the command is used in scripts. */
export async function reportingErrors({ printError }: CommandContext, run: () => Promise<void>): Promise<number> {
  try {
    await run();
    return 0;
  } catch (failure) {
    printError(`Error: ${errorMessage(failure).trimEnd()}\n`);
    return 1;
  }
}
