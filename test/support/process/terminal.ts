import { spawn } from "node:child_process";
import { until } from "../wait/until.ts";

/** A program on a pseudo-terminal of its own, whose user is the test. */
export interface Terminal extends AsyncDisposable {
  type(text: string): void;
  /** Everything that was shown so far, control sequences and all. */
  output(): string;
  /** Resolves when the text has been shown after the last `type`. */
  shows(text: string | RegExp): Promise<void>;
  /** Exit code of the program. */
  readonly exited: Promise<number>;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** `script` makes the terminal; its own input is what is typed there. */
export function openTerminal(words: readonly string[], { env = {}, cwd = "/" }: TerminalOptions = {}): Terminal {
  const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const child = spawn("script", ["-qefc", `exec ${line}`, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  let since = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    // Without the bell, which may ring in the middle of a word.
    shown += chunk.toString().replaceAll("\u0007", "");
  });
  child.stdin.on("error", () => undefined);
  const exited = new Promise<number>((done) => child.once("exit", (code) => done(code ?? -1)));
  return {
    type(text) {
      since = shown.length;
      child.stdin.write(text);
    },
    output: () => shown,
    shows: (text) =>
      until(() => {
        const rest = shown.slice(since);
        return (
          (typeof text === "string" ? rest.includes(text) : text.test(rest)) || `no ${text} in ${JSON.stringify(rest)}`
        );
      }),
    exited,
    async [Symbol.asyncDispose]() {
      // The terminal goes with it, which ends the program in it.
      child.kill("SIGKILL");
      await exited;
      child.stdin.destroy();
      child.stdout.destroy();
    },
  };
}
