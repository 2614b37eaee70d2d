import { expect, test } from "vitest";
import { DEFAULT_RESTART_BUDGET } from "./restart-budget.ts";
import {
  initialSupervisorState,
  nextSupervisorState,
  type SupervisorAction,
  type SupervisorEvent,
  type SupervisorState,
  type Transition,
} from "./supervisor-state.ts";

const GUARDED = { budget: DEFAULT_RESTART_BUDGET };
const UNGUARDED = { budget: undefined };

/** Events as words: `exit`, `crash` and `fail` are the newest process, `old-…` the oldest, `fail` also before it was live. */
type Word =
  | "live"
  | "exit"
  | "crash"
  | "fail"
  | "old-exit"
  | "old-crash"
  | "stop"
  | "stop-now"
  | "reload"
  | "drained"
  | "kill-due"
  | "restart-due"
  | "live-wait-over";

function toEvent(word: Word, state: SupervisorState): SupervisorEvent {
  const epochs = state.phase === "ended" ? [] : state.epochs;
  const newest = epochs.at(-1)?.number ?? 0;
  const oldest = epochs.at(0)?.number ?? 0;
  const exited = (epoch: number, kind: "clean" | "crashed") =>
    ({ type: "exited", epoch, exit: { kind, text: kind }, now: 0, random: 0.5 }) as const;
  switch (word) {
    case "live":
      return { type: "live", epoch: newest, now: 0 };
    case "exit":
      return exited(newest, "clean");
    case "crash":
      return exited(newest, "crashed");
    case "fail":
      return {
        type: "exited",
        epoch: newest,
        exit: { kind: "cannot-execute", text: "no" },
        now: 0,
        random: 0.5,
      };
    case "old-exit":
      return exited(oldest, "clean");
    case "old-crash":
      return exited(oldest, "crashed");
    case "stop":
      return { type: "stop", drain: true };
    case "stop-now":
      return { type: "stop", drain: false };
    case "drained":
    case "kill-due":
      return { type: word };
    case "reload":
    case "restart-due":
    case "live-wait-over":
      return { type: word, now: 0 };
  }
}

function printAction(action: SupervisorAction): string {
  switch (action.do) {
    case "start":
    case "await-live":
      return `${action.do} ${action.epoch}`;
    case "signal":
      return `${action.signal} ${action.epochs.join("+")}`;
    case "schedule-restart":
      return `pause ${action.delayMs}`;
    case "keep-parent":
      return `keep ${action.parent}`;
    case "refuse-reload":
      return `refuse (${action.why})`;
    default:
      return action.do;
  }
}

function printState(state: SupervisorState): string {
  if (state.phase === "ended") return `ended ${state.end.kind}`;
  return `${state.phase} [${state.epochs.map((epoch) => epoch.number)}]`;
}

function play(words: readonly Word[], policy = GUARDED as { budget: typeof DEFAULT_RESTART_BUDGET | undefined }) {
  let transition: Transition = initialSupervisorState(0);
  const actions: string[] = [];
  for (const word of words) {
    transition = nextSupervisorState(transition.state, toEvent(word, transition.state), policy);
    actions.push(...transition.actions.map(printAction));
  }
  return { state: transition.state, end: printState(transition.state), actions };
}

test("the first thing is to start epoch 0", () => {
  expect(initialSupervisorState(0).actions).toEqual([{ do: "start", epoch: 0 }]);
});

test.each<{ words: Word[]; end: string; actions: string[] }>([
  // one process, no request
  { words: ["exit"], end: "ended clean", actions: [] },
  { words: ["crash"], end: "backing-off []", actions: ["pause 200"] },
  { words: ["fail"], end: "backing-off []", actions: ["pause 200"] },
  { words: ["crash", "restart-due"], end: "running [0]", actions: ["pause 200", "start 0"] },
  { words: ["crash", "restart-due", "crash"], end: "backing-off []", actions: ["pause 200", "start 0", "pause 400"] },
  { words: ["crash", "restart-due", "exit"], end: "ended clean", actions: ["pause 200", "start 0"] },
  { words: ["crash", "stop"], end: "ended clean", actions: ["pause 200"] },
  { words: ["crash", "stop-now"], end: "ended clean", actions: ["pause 200"] },
  { words: ["crash", "reload"], end: "backing-off []", actions: ["pause 200", "refuse (restarting)"] },
  // stopping
  { words: ["stop"], end: "draining [0]", actions: ["drain"] },
  { words: ["stop", "exit"], end: "ended clean", actions: ["drain"] },
  { words: ["stop", "crash"], end: "ended clean", actions: ["drain"] },
  { words: ["stop", "drained"], end: "terminating [0]", actions: ["drain", "SIGTERM 0", "schedule-kill"] },
  { words: ["stop", "stop"], end: "terminating [0]", actions: ["drain", "SIGTERM 0", "schedule-kill"] },
  { words: ["stop", "stop", "drained"], end: "terminating [0]", actions: ["drain", "SIGTERM 0", "schedule-kill"] },
  {
    words: ["stop", "stop", "stop"],
    end: "killing [0]",
    actions: ["drain", "SIGTERM 0", "schedule-kill", "SIGKILL 0"],
  },
  {
    words: ["stop", "drained", "kill-due"],
    end: "killing [0]",
    actions: ["drain", "SIGTERM 0", "schedule-kill", "SIGKILL 0"],
  },
  {
    words: ["stop", "drained", "kill-due", "stop", "kill-due", "crash"],
    end: "ended clean",
    actions: ["drain", "SIGTERM 0", "schedule-kill", "SIGKILL 0"],
  },
  { words: ["stop", "drained", "exit"], end: "ended clean", actions: ["drain", "SIGTERM 0", "schedule-kill"] },
  { words: ["stop", "reload"], end: "draining [0]", actions: ["drain", "refuse (stopping)"] },
  { words: ["stop-now"], end: "terminating [0]", actions: ["SIGTERM 0", "schedule-kill"] },
  { words: ["stop-now", "crash"], end: "ended clean", actions: ["SIGTERM 0", "schedule-kill"] },
  { words: ["exit", "stop", "reload", "crash"], end: "ended clean", actions: ["refuse (stopping)"] },
  // hot restart
  { words: ["live", "reload"], end: "running [0,1]", actions: ["start 1"] },
  { words: ["reload"], end: "running [0]", actions: ["await-live 0"] },
  { words: ["reload", "reload"], end: "running [0]", actions: ["await-live 0"] },
  { words: ["reload", "live"], end: "running [0,1]", actions: ["await-live 0", "start 1"] },
  { words: ["reload", "live-wait-over"], end: "running [0,1]", actions: ["await-live 0", "start 1"] },
  { words: ["reload", "live", "live-wait-over"], end: "running [0,1]", actions: ["await-live 0", "start 1"] },
  { words: ["reload", "crash"], end: "backing-off []", actions: ["await-live 0", "pause 200"] },
  { words: ["live", "reload", "live", "old-exit"], end: "running [1]", actions: ["start 1"] },
  { words: ["live", "reload", "live", "old-crash"], end: "running [1]", actions: ["start 1"] },
  { words: ["live", "reload", "live", "reload"], end: "running [0,1,2]", actions: ["start 1", "start 2"] },
  // a child that fails to start leaves the parent serving, and its number free
  { words: ["live", "reload", "fail"], end: "running [0]", actions: ["start 1", "keep 0"] },
  { words: ["live", "reload", "exit"], end: "running [0]", actions: ["start 1", "keep 0"] },
  { words: ["live", "reload", "crash", "reload"], end: "running [0,1]", actions: ["start 1", "keep 0", "start 1"] },
  { words: ["live", "reload", "reload", "fail"], end: "running [0]", actions: ["start 1", "await-live 1", "keep 0"] },
  // a parent that crashes under a child that is not yet live
  { words: ["live", "reload", "old-crash"], end: "running [1]", actions: ["start 1", "SIGKILL 1"] },
  {
    words: ["live", "reload", "old-crash", "crash", "restart-due"],
    end: "running [0]",
    actions: ["start 1", "SIGKILL 1", "pause 200", "start 0"],
  },
  // the newest crashes while older ones drain: everything goes, and the ports are free before the next start
  {
    words: ["live", "reload", "live", "crash"],
    end: "backing-off [0]",
    actions: ["start 1", "SIGKILL 0", "pause 200"],
  },
  {
    words: ["live", "reload", "live", "crash", "restart-due"],
    end: "backing-off [0]",
    actions: ["start 1", "SIGKILL 0", "pause 200"],
  },
  {
    words: ["live", "reload", "live", "crash", "restart-due", "old-crash"],
    end: "running [0]",
    actions: ["start 1", "SIGKILL 0", "pause 200", "start 0"],
  },
  {
    words: ["live", "reload", "live", "crash", "old-crash", "restart-due"],
    end: "running [0]",
    actions: ["start 1", "SIGKILL 0", "pause 200", "start 0"],
  },
  {
    words: ["live", "reload", "live", "crash", "stop", "old-crash"],
    end: "ended clean",
    actions: ["start 1", "SIGKILL 0", "pause 200"],
  },
  // the newest is ended from outside: nothing would end the older ones
  {
    words: ["live", "reload", "live", "exit"],
    end: "terminating [0]",
    actions: ["start 1", "SIGTERM 0", "schedule-kill"],
  },
  {
    words: ["live", "reload", "stop", "drained"],
    end: "terminating [0,1]",
    actions: ["start 1", "drain", "SIGTERM 1", "schedule-kill"],
  },
  // the newest goes first, the others only after it
  {
    words: ["live", "reload", "stop", "drained", "exit"],
    end: "terminating [0]",
    actions: ["start 1", "drain", "SIGTERM 1", "schedule-kill", "SIGTERM 0"],
  },
  {
    words: ["live", "reload", "stop", "drained", "old-exit"],
    end: "terminating [1]",
    actions: ["start 1", "drain", "SIGTERM 1", "schedule-kill"],
  },
  {
    words: ["live", "reload", "stop", "drained", "kill-due"],
    end: "killing [0,1]",
    actions: ["start 1", "drain", "SIGTERM 1", "schedule-kill", "SIGKILL 0+1"],
  },
  {
    words: ["live", "reload", "stop", "old-exit", "drained", "exit"],
    end: "ended clean",
    actions: ["start 1", "drain", "SIGTERM 1", "schedule-kill"],
  },
])("$words leads to $end", ({ words, end, actions }) => {
  expect(play(words)).toMatchObject({ end, actions });
});

test.each<{ words: Word[]; end: string }>([
  { words: ["exit"], end: "ended clean" },
  { words: ["crash"], end: "ended crashed" },
  { words: ["fail"], end: "ended cannot-execute" },
  { words: ["stop", "crash"], end: "ended clean" },
  { words: ["live", "reload", "fail"], end: "running [0]" },
  { words: ["live", "reload", "live", "crash"], end: "killing [0]" },
  { words: ["live", "reload", "live", "crash", "old-crash"], end: "ended crashed" },
])("without the guard $words leads to $end", ({ words, end }) => {
  expect(play(words, UNGUARDED).end).toBe(end);
});

test("the tenth failure in a row ends it with the kind of that failure", () => {
  const again: Word[] = ["crash", "restart-due"];
  expect(play([...Array(9).fill(again).flat(), "crash"]).end).toBe("ended crashed");
  expect(play([...Array(9).fill(again).flat(), "fail"]).end).toBe("ended cannot-execute");
});

const WORDS: readonly Word[] = ["exit", "crash", "stop", "stop", "reload", "fail", "live", "restart-due"];

/** Every order of the words, without repeating equal ones. */
function orders(words: readonly Word[]): Word[][] {
  if (words.length === 0) return [[]];
  return [...new Set(words)].flatMap((first) => {
    const rest = words.toSpliced(words.indexOf(first), 1);
    return orders(rest).map((order) => [first, ...order]);
  });
}

test("in every order of exit, crash, stop, second stop, reload and failed start nothing is started after a stop", () => {
  const all = orders(WORDS);
  expect(all.length).toBe(20_160);
  for (const words of all) {
    const beforeStop = play(words.slice(0, words.indexOf("stop")));
    const startsBefore = beforeStop.actions.filter((action) => action.startsWith("start")).length;
    const whole = play(words);
    expect(whole.actions.filter((action) => action.startsWith("start")).length, words.join(" ")).toBe(startsBefore);
  }
});

test("in every order the end comes once the remaining processes have exited", () => {
  for (const words of orders(WORDS)) {
    const { end } = play([...words, "stop", "drained", "kill-due", "crash", "crash", "crash"]);
    expect(end, words.join(" ")).toMatch(/^ended /);
  }
});
