import { prefixLines, type Say, table, type WorkloadProgress } from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";

export interface UpViewOptions extends Pick<CommandContext, "print" | "printError"> {
  /** A live table is drawn on one; elsewhere there are lines. */
  readonly isTerminal: boolean;
  readonly hasColours: boolean;
  readonly columns: number;
  readonly now: () => number;
}

/** What `mesh up` shows: lines of the mesh and of applications, and below them how far the start is. */
export interface UpView {
  readonly say: Say;
  print(text: string): void;
  output(workload: string, text: string): void;
  progress(rows: readonly WorkloadProgress[]): void;
  /** The table goes; what is late from now on is printed in lines, unless all is ready. */
  settle(isReady?: boolean): void;
}

/** A wait longer than this for the same thing is printed; the next time after three times as long. */
const PATIENCE_MS = 5000;
/** More rows would push away what was printed before. */
const MAX_ROWS = 12;

export function createUpView(options: UpViewOptions): UpView {
  const { isTerminal, hasColours, now } = options;
  const announce = createAnnouncer(now);
  let isLive = isTerminal;
  let isOver = false;
  let drawn = "";
  let width = 0;
  const erase = () => {
    if (drawn !== "") options.print(`\u001b[${drawn.split("\n").length - 1}A\u001b[J`);
  };
  /** Above the table, which is drawn again below. */
  const above = (write: () => void) => {
    erase();
    write();
    if (drawn !== "") options.print(drawn);
  };
  const say: Say = (level, text) => {
    const line = `${level === "info" ? "" : `${level}: `}${text}`;
    if (level === "info") above(() => options.print(`${line}\n`));
    else if (hasColours) above(() => options.printError(`\u001b[${level === "warn" ? 33 : 31}m${line}\u001b[0m\n`));
    else above(() => options.printError(`${line}\n`));
  };
  return {
    say,
    print: (text) => above(() => options.print(text)),
    output(workload, text) {
      width = Math.max(width, workload.length);
      above(() => options.print(prefixLines(workload, text, { width, hasColours })));
    },
    progress(rows) {
      if (isOver) return;
      if (!isLive) {
        for (const line of announce(rows)) say("info", line);
        return;
      }
      const next = progressTable(rows, now(), options.columns);
      if (next === drawn) return;
      erase();
      drawn = next;
      options.print(drawn);
    },
    settle(isReady = false) {
      isOver = isReady;
      erase();
      drawn = "";
      isLive = false;
    },
  };
}

function progressTable(rows: readonly WorkloadProgress[], now: number, columns: number): string {
  const waiting = rows.filter(({ waitsFor }) => waitsFor !== undefined);
  const cells = waiting
    .slice(0, MAX_ROWS)
    .map(({ name, waitsFor = "", since }) => [`  ${name}`, seconds(now - since), waitsFor]);
  const more = waiting.length > MAX_ROWS ? `  and ${waiting.length - MAX_ROWS} more\n` : "";
  const all = rows.length === 1 ? "1 workload is" : `${rows.length} workloads are`;
  const head = `${rows.length - waiting.length} of ${all} ready\n`;
  return `${head}${cells.length === 0 ? "" : table(cells)}${more}`
    .split("\n")
    .map((line) => line.slice(0, columns - 1))
    .join("\n");
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.floor(ms / 1000))} s`;
}

/** Lines for those who wait for something for long, and for their end. */
export function createAnnouncer(now: () => number): (rows: readonly WorkloadProgress[]) => readonly string[] {
  const told = new Map<string, { readonly waitsFor: string; readonly nextMs: number }>();
  return (rows) =>
    rows.flatMap(({ name, waitsFor, since }) => {
      const before = told.get(name);
      if (waitsFor === undefined) return told.delete(name) ? [`${name} is ready`] : [];
      const waitedMs = now() - since;
      const isSame = before?.waitsFor === waitsFor;
      if (waitedMs < (isSame ? before.nextMs : PATIENCE_MS)) return [];
      told.set(name, { waitsFor, nextMs: 3 * waitedMs });
      return [`${name}/${waitsFor} (for ${seconds(waitedMs)})`];
    });
}
