import { errorCode } from "../../base/coded-error.ts";
import { type LogTarget, openLogTarget } from "../../base/log/log-targets.ts";
import type { CommandContext } from "../framework/command.ts";

/**
 * Where `mesh up` writes. A reader that has gone (`| head`, a closed terminal) must not end the process on the spot, as it does other
 * commands: namespaces and processes would stay behind. A full disk behind the output is no reason to end at all.
 */
export function meshOutput(
  onReaderGone: () => void,
  open: (name: "stdout" | "stderr") => LogTarget = openLogTarget,
): Pick<CommandContext, "print" | "printError"> {
  const to = (target: LogTarget) => (text: string) => {
    try {
      target.write(text);
    } catch (thrown) {
      const code = errorCode(thrown);
      if (code === "EPIPE" || code === "EIO") onReaderGone();
    }
  };
  return { print: to(open("stdout")), printError: to(open("stderr")) };
}
