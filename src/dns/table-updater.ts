import type { NameTable } from "../xds/name-table.ts";
import { buildInSteps, type LookupTable, type TableOptions } from "./core/name-table.ts";

export interface TableUpdater {
  /** Small tables are in force when this returns, large ones some turns of the event loop later. */
  update(next: NameTable): void;
  stop(): void;
}

/** About five milliseconds of work: what a query may have to wait for. */
const STEP_ENTRIES = 1_000;

/** Builds tables aside, a step per turn. A push during a build waits for it and replaces any other that waits: only the last one matters. */
export function createTableUpdater(
  options: TableOptions,
  apply: (table: LookupTable, source: NameTable) => void,
): TableUpdater {
  let waiting: NameTable | undefined;
  let isBuilding = false;
  let turn: NodeJS.Immediate | undefined;

  const start = (source: NameTable) => {
    isBuilding = true;
    advance(source, buildInSteps(source, options, STEP_ENTRIES));
  };
  const advance = (source: NameTable, steps: Generator<undefined, LookupTable>) => {
    const step = steps.next();
    if (step.done !== true) {
      turn = setImmediate(advance, source, steps);
      return;
    }
    isBuilding = false;
    apply(step.value, source);
    const next = waiting;
    waiting = undefined;
    if (next !== undefined) start(next);
  };
  return {
    update(next) {
      if (isBuilding) waiting = next;
      else start(next);
    },
    stop() {
      clearImmediate(turn);
    },
  };
}
