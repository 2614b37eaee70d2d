import type { CommandContext } from "./command.ts";

/** Progress of one long piece of work. */
export interface ProgressLine {
  show(text: string): void;
  /** What is printed next begins on a line of its own. */
  end(): void;
}

/** A line that changes on a terminal. Elsewhere the first text alone: thousands of them would be a log of nothing. */
export function createProgressLine({
  isTerminal,
  printError,
}: Pick<CommandContext, "isTerminal" | "printError">): ProgressLine {
  let shown = 0;
  return {
    show(text) {
      if (isTerminal) printError(`\r${text.padEnd(shown)}`);
      else if (shown === 0) printError(`${text}\n`);
      shown = text.length;
    },
    end() {
      if (shown > 0 && isTerminal) printError("\n");
    },
  };
}
