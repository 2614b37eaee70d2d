export interface Load {
  /** Requests begun so far. */
  readonly requests: number;
  readonly failures: readonly string[];
  /** How often each answer came. */
  readonly answers: ReadonlyMap<string, number>;
  /** Resolves when the last request has its answer. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  /** Requests at the same time. */
  readonly lanes?: number;
  /** Between an answer and the next request of its lane. */
  readonly pauseMs?: number;
}

/** Sends requests, one after the other in each lane, until stopped. A request resolves to its answer; one that rejects has failed. */
export function startLoad(request: () => Promise<string>, { lanes = 1, pauseMs }: LoadOptions = {}): Load {
  const failures: string[] = [];
  const answers = new Map<string, number>();
  let requests = 0;
  let isRunning = true;
  const lane = async () => {
    while (isRunning) {
      requests += 1;
      try {
        const answer = await request();
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      } catch (thrown) {
        failures.push(`request ${requests}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      }
      if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const running = Promise.all(Array.from({ length: lanes }, lane));
  return {
    failures,
    answers,
    get requests() {
      return requests;
    },
    stop: async () => {
      isRunning = false;
      await running;
    },
  };
}
