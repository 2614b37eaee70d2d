import { spawnProgram } from "../process/spawn-program.ts";

export interface Watchdog {
  readonly pid: number | undefined;
  watch(pid: number): void;
  unwatch(pid: number): void;
  stop(): Promise<void>;
}

/**
 * Constant text; process ids reach it as lines on its input: `+PID` to watch, `-PID` to forget. The end of the input without a
 * goodbye means that the agent is gone, and with it everybody who would end what is still watched.
 */
const SCRIPT = `
trap '' INT TERM HUP
watched=' '
while IFS= read -r line; do
  case $line in
    bye) exit 0 ;;
    +*) watched="$watched\${line#+} " ;;
    -*) pid=\${line#-}
        case $watched in *" $pid "*) watched="\${watched%% $pid *} \${watched#* $pid }" ;; esac ;;
  esac
done
for pid in $watched; do kill -9 "$pid"; done 2>/dev/null
for file; do rm -f -- "$file"; done
`;

/** `leftovers` are files that only the agent removes. */
export function startWatchdog(leftovers: readonly string[] = []): Watchdog {
  const child = spawnProgram("/bin/sh", ["-c", SCRIPT, "watchdog", ...leftovers], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  // A shell that died early is no reason to end the agent; the pipe then only reports a broken write.
  child.stdin.on("error", () => undefined);
  // It must not keep an agent alive that has nothing else to do.
  child.unref();
  const send = (line: string) => {
    if (child.stdin.writable) child.stdin.write(`${line}\n`);
  };
  return {
    pid: child.pid,
    watch: (pid) => send(`+${pid}`),
    unwatch: (pid) => send(`-${pid}`),
    stop: async () => {
      send("bye");
      child.stdin.end();
      await gone;
    },
  };
}
