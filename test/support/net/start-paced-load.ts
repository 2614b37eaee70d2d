export interface PacedLoad {
  /** Requests that the rate asks for so far. */
  readonly due: number;
  readonly sent: number;
  readonly failures: readonly string[];
  /** How often each answer came. */
  readonly answers: ReadonlyMap<string, number>;
  /** Sends what is due to this moment, and resolves when every request has its answer. */
  stop(): Promise<void>;
}

export interface PacedLoadOptions {
  readonly perSecond: number;
  /** With this many unanswered nothing more is sent: what is due stays due. */
  readonly maxUnanswered: number;
}

const TICK_MS = 2;

/**
 * Open loop: requests go out by the rate, whether those before them are answered or not, so that a server that hangs meets more and more of
 * them. `number` counts from 0. A tick that comes late sends all that has become due; so `sent` is less than `due` at the end only where the
 * requests' answers do not keep up.
 */
export function startPacedLoad(
  request: (number: number) => Promise<string>,
  { perSecond, maxUnanswered }: PacedLoadOptions,
): PacedLoad {
  const failures: string[] = [];
  const answers = new Map<string, number>();
  const unanswered = new Set<Promise<void>>();
  const start = performance.now();
  let [due, sent] = [0, 0];
  const send = (number: number) => {
    const one = request(number)
      .then(
        (answer) => void answers.set(answer, (answers.get(answer) ?? 0) + 1),
        (thrown: unknown) =>
          void failures.push(`request ${number}: ${thrown instanceof Error ? thrown.message : String(thrown)}`),
      )
      .finally(() => unanswered.delete(one));
    unanswered.add(one);
  };
  const sendDue = () => {
    due = Math.floor(((performance.now() - start) * perSecond) / 1000);
    for (; sent < due && unanswered.size < maxUnanswered; sent += 1) send(sent);
  };
  const timer = setInterval(sendDue, TICK_MS);
  return {
    failures,
    answers,
    get due() {
      return due;
    },
    get sent() {
      return sent;
    },
    stop: async () => {
      sendDue();
      clearInterval(timer);
      await Promise.all(unanswered);
    },
  };
}
