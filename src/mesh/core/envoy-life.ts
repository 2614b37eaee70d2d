/** What is known of the Envoy of one agent from the agent's log. */
export interface EnvoyLife {
  /** Starts after a failure, since the mesh is up. */
  readonly restarts: number;
  /** Why the last one ended, until its agent says that it is ready. */
  readonly failure?: string;
  /** Of the end that is being reported. */
  readonly exit?: string;
}

export const UNTROUBLED: EnvoyLife = { restarts: 0 };

export interface EnvoyLifeStep {
  readonly life: EnvoyLife;
  /** Worth a line; a failure that repeats is logged once. */
  readonly news: readonly string[];
}

const ENDED = /\t(?:Envoy|Epoch \d+) exited with error: (.+)$/;
const OWN_REASON = /\tEnvoy's own reason\treason=(.+)$/;
const AGAIN = /\tEnvoy is started again after a pause\tdelay=(\S+) failure=(\d+)/;
const READY = /\tEnvoy proxy is ready/;

/** Access logs of Envoy stand between the agent's lines, many of them: only a few lines are looked at closely. */
export function nextEnvoyLife(before: EnvoyLife, text: string): EnvoyLifeStep {
  let life = before;
  const news: string[] = [];
  for (const line of linesWith(text, "Envoy", "Epoch")) {
    const [, ended] = ENDED.exec(line) ?? [];
    const [, reason] = OWN_REASON.exec(line) ?? [];
    const [, delay, failure] = AGAIN.exec(line) ?? [];
    if (ended !== undefined) life = { ...life, exit: ended };
    if (reason !== undefined) life = { ...life, exit: `${life.exit ?? "it does not start"}: ${reason}` };
    if (delay !== undefined) {
      const { exit = "it has ended" } = life;
      if (exit !== life.failure || failure === "1" || isSignal(exit)) {
        news.push(`${exit}; its agent starts it again after ${delay}`);
      }
      life = { restarts: life.restarts + 1, failure: exit };
    }
    if (READY.test(line)) life = { restarts: life.restarts };
  }
  return { life, news };
}

/** Somebody ended it: each time is news. A configuration that it refuses stays the same. */
function isSignal(exit: string): boolean {
  return exit.startsWith("signal");
}

function* linesWith(text: string, ...words: readonly string[]): Generator<string> {
  if (!words.some((word) => text.includes(word))) return;
  for (const line of text.split("\n")) {
    // An access log begins with a bracket, the agent's own line with a time.
    if (/^\d{4}-/.test(line) && words.some((word) => line.includes(word))) yield line;
  }
}
