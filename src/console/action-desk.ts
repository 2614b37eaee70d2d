import { randomBytes } from "node:crypto";
import { errorMessage } from "../base/coded-error.ts";
import { MAX_TIMER_MS } from "../base/timer-limit.ts";
import { HttpError } from "../net/http-server/http-types.ts";
import { changedBy, contextFor, differenceOf } from "./action-changes.ts";
import { asHttp, checkRequest, isOnProcess } from "./action-request.ts";
import type {
  Action,
  ActionList,
  ActionPreview,
  ActionRequest,
  AppliedAction,
  GraphSnapshot,
  HistoryMark,
} from "./api.ts";
import {
  type ActionBook,
  type ActionRecord,
  type BookPlan,
  firstRamp,
  keyOf,
  nextRamp,
  planBook,
  takenOver,
} from "./core/action-book.ts";
import { type Ending, ended, inOrder, rampFigures, toApplied } from "./core/action-records.ts";
import { planAction } from "./core/plan-action.ts";
import type { ObjectDesk } from "./object-desk.ts";
import { RefusedText } from "./object-text.ts";
import type { ConsoleSources, ObjectName, StoredObject } from "./sources.ts";

/** How long actions that have ended are listed. */
const KEPT_MS = 3600_000;
const RETRY_MS = 5000;

export interface ActionDeskOptions {
  readonly sources: ConsoleSources;
  readonly objects: () => ObjectDesk | undefined;
  /** What an earlier console left; its actions go on, and end when they should. */
  readonly book: ActionBook;
  save(book: ActionBook): void;
  now(): number;
  onChange(): void;
  onMark(mark: HistoryMark): void;
}

export interface ActionDesk {
  list(): ActionList;
  preview(request: ActionRequest): Promise<ActionPreview>;
  apply(request: ActionRequest): Promise<AppliedAction>;
  undo(id: string): Promise<AppliedAction>;
  /** Objects that somebody has changed by hand: they are no action's any more. */
  release(names: readonly ObjectName[]): void;
  actionOf(name: ObjectName): string | undefined;
  /** A ramp needs figures, also when no page is open. */
  readonly needsFigures: boolean;
  onGraph(graph: GraphSnapshot): void;
  stop(): Promise<void>;
}

export function createActionDesk(options: ActionDeskOptions): ActionDesk {
  const { sources, now } = options;
  let { book } = options;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let lastGraphAt: number | undefined;
  // One change after the other: each is planned on what the one before has written.
  let queue: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = queue.then(work);
    queue = result.catch(() => undefined);
    return result;
  };
  const write = (next: ActionBook) => {
    const kept = next.actions.filter(({ state, endedAt }) => state === "active" || (endedAt ?? 0) > now() - KEPT_MS);
    book = { ...next, actions: kept };
    options.save(book);
    schedule();
    options.onChange();
  };
  const replace = (record: ActionRecord) =>
    write({ ...book, actions: book.actions.map((each) => (each.id === record.id ? record : each)) });
  const active = () => book.actions.filter(({ state }) => state === "active");
  const rulesOf = (records: readonly ActionRecord[]) => records.filter(({ action }) => !isOnProcess(action));

  const contextOf = async () => {
    const objects = sources.objects === undefined ? [] : (await sources.objects.list()).objects;
    return contextFor(sources, objects);
  };
  const carryOut = async ({ put, remove }: BookPlan) => {
    for (const document of put) await sources.objects?.put(document);
    for (const name of remove) await sources.objects?.remove(name);
  };
  /** Actions whose objects others have written since give them up. */
  const giveUpTaken = (objects: readonly StoredObject[]) => {
    const taken = takenOver(book.written, objects);
    if (taken.length > 0) giveUp(taken.map(keyOf), "its objects were changed by somebody else");
  };
  const giveUp = (keys: readonly string[], reason: string) => {
    const actions = book.actions.map((record) =>
      record.state === "active" && record.keys.some((key) => keys.includes(key))
        ? ended(record, { state: "superseded", reason }, now())
        : record,
    );
    const left = new Set(actions.filter(({ state }) => state === "active").flatMap((record) => record.keys));
    write({ actions, written: book.written.filter((each) => left.has(keyOf(each))) });
  };

  const end = async (id: string, ending: Ending): Promise<ActionRecord> => {
    const context = await contextOf();
    giveUpTaken(context.objects);
    const record = recordOf(book, id);
    if (record.state !== "active") return record;
    if (record.action.kind === "stop-control-plane") await sources.parts?.startControlPlane();
    const others = rulesOf(active().filter((each) => each.id !== id));
    const plan = planBook(others, book.written, context);
    await carryOut(plan);
    const done = ended(record, ending, now());
    write({ actions: book.actions.map((each) => (each.id === id ? done : each)), written: plan.written });
    const reason = ending.reason === undefined ? "" : `: ${ending.reason}`;
    options.onMark({
      at: now(),
      kind: "undo",
      text: `${ENDINGS[ending.state] ?? ending.state}: ${record.text}${reason}`,
    });
    return done;
  };
  const schedule = () => {
    clearTimeout(timer);
    if (isStopped) return;
    const next = Math.min(...active().map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt));
    if (next === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => void inTurn(expire), Math.min(MAX_TIMER_MS, Math.max(0, next - now())));
    timer.unref();
  };
  const expire = async () => {
    for (const { id, expiresAt } of active()) {
      if (isStopped || expiresAt === undefined || expiresAt > now()) continue;
      try {
        await end(id, { state: "expired" });
      } catch (thrown) {
        // A control plane that is away comes back: until then the reason is shown.
        const reason = `it has expired and cannot be taken back yet: ${errorMessage(thrown)}`;
        replace({ ...recordOf(book, id), expiresAt: now() + RETRY_MS, reason });
      }
    }
    schedule();
  };
  const plan = async ({ action, expiresInMs }: ActionRequest) => {
    checkRequest(action, expiresInMs, sources);
    const context = await contextOf();
    return { planned: asHttp(() => planAction(action, context)), context };
  };
  const advance = async (record: ActionRecord, figures: { requests: number; errors: number }) => {
    if (record.action.kind !== "ramp" || record.ramp === undefined) return;
    const step = nextRamp(record.action, record.ramp, figures, now());
    if (step.do === "return") {
      replace({ ...record, ramp: step.ramp });
      await end(record.id, { state: "returned", reason: step.reason });
      return;
    }
    if (step.do === "stay") {
      if (step.ramp !== record.ramp) replace({ ...record, ramp: step.ramp });
      return;
    }
    const context = await contextOf();
    giveUpTaken(context.objects);
    if (recordOf(book, record.id).state !== "active") return;
    const next = { ...record, ramp: step.ramp };
    const after = planBook(
      rulesOf(active().map((each) => (each.id === record.id ? next : each))),
      book.written,
      context,
    );
    await carryOut(after);
    write({ actions: book.actions.map((each) => (each.id === record.id ? next : each)), written: after.written });
    options.onMark({ at: now(), kind: "action", text: `${record.text}: ${step.ramp.share}%` });
  };
  schedule();

  return {
    list: () => ({ actions: inOrder(book.actions).map(toApplied) }),
    async preview(request) {
      const { planned, context } = await plan(request);
      const documents = changedBy(planned.documents, context.objects);
      return {
        action: request.action,
        text: planned.text,
        changes: documents.map((each) => differenceOf(each, context.objects)),
        problems: documents.length === 0 ? [] : ((await options.objects()?.problemsOf(documents)) ?? []),
        canUndo: request.action.kind !== "kill-envoy" && request.action.kind !== "start-control-plane",
      };
    },
    apply: (request) =>
      inTurn(async () => {
        const { action, expiresInMs } = request;
        const { planned, context } = await plan(request);
        giveUpTaken(context.objects);
        const documents = changedBy(planned.documents, context.objects);
        const problems = documents.length === 0 ? [] : ((await options.objects()?.problemsOf(documents)) ?? []);
        if (problems.some(({ severity, code }) => severity === "error" && code === undefined))
          throw new RefusedText(problems);
        const at = now();
        const record: ActionRecord = {
          id: randomBytes(6).toString("hex"),
          action,
          text: planned.text,
          appliedAt: at,
          ...(expiresInMs === undefined ? {} : { expiresAt: at + expiresInMs }),
          state: action.kind === "kill-envoy" || action.kind === "start-control-plane" ? "done" : "active",
          ...(action.kind === "ramp" ? { ramp: firstRamp(action, at) } : {}),
          changes: documents.map((each) => differenceOf(each, context.objects)),
          keys: documents.map(keyOf),
        };
        await act(action, sources);
        if (action.kind === "start-control-plane")
          write({
            ...book,
            actions: book.actions.map((each) =>
              each.state === "active" && each.action.kind === "stop-control-plane"
                ? ended(each, { state: "undone" }, at)
                : each,
            ),
          });
        const after = asHttp(() => planBook(rulesOf([...active(), record]), book.written, context));
        await carryOut(after);
        write({
          actions: [...book.actions, record.state === "done" ? { ...record, endedAt: at } : record],
          written: after.written,
        });
        options.onMark({ at, kind: "action", text: planned.text });
        return toApplied(record);
      }),
    undo: (id) =>
      inTurn(async () => {
        const record = book.actions.find((each) => each.id === id);
        if (record === undefined) throw new HttpError(404, `there is no action ${JSON.stringify(id)}`);
        if (record.state !== "active")
          throw new HttpError(
            409,
            `nothing to undo: the action is ${record.state}${record.reason === undefined ? "" : `, ${record.reason}`}`,
          );
        return toApplied(await end(id, { state: "undone" }));
      }),
    release: (names) => giveUp(names.map(keyOf), "its objects were edited"),
    actionOf: (name) => active().findLast(({ keys }) => keys.includes(keyOf(name)))?.id,
    get needsFigures() {
      return active().some(({ ramp }) => ramp !== undefined && ramp.step < ramp.steps.length);
    },
    onGraph(graph) {
      const elapsedMs = lastGraphAt === undefined ? 0 : Math.min(graph.at - lastGraphAt, 10_000);
      lastGraphAt = graph.at;
      for (const { id } of active().filter(({ ramp }) => ramp !== undefined && ramp.step < ramp.steps.length)) {
        void inTurn(async () => {
          const record = book.actions.find((each) => each.id === id && each.state === "active");
          if (record === undefined || isStopped) return;
          const { namespace } = sources.identity;
          await advance(record, rampFigures(record, graph, { namespace, services: sources.services(), elapsedMs }));
        }).catch((thrown: unknown) => replace({ ...recordOf(book, id), reason: errorMessage(thrown) }));
      }
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await queue;
    },
  };
}

const ENDINGS: Partial<Record<AppliedAction["state"], string>> = {
  undone: "Undone",
  expired: "Expired",
  returned: "Returned",
};

async function act(action: Action, { parts }: ConsoleSources): Promise<void> {
  if (action.kind === "kill-envoy") await parts?.killEnvoy(action.workload);
  if (action.kind === "stop-control-plane") await parts?.stopControlPlane();
  if (action.kind === "start-control-plane") await parts?.startControlPlane();
}

function recordOf({ actions }: ActionBook, id: string): ActionRecord {
  const found = actions.find((each) => each.id === id);
  if (found === undefined) throw new HttpError(404, `there is no action ${JSON.stringify(id)}`);
  return found;
}
