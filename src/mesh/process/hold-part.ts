import { wait } from "../../base/wait.ts";
import type { Part, PartSpec } from "./start-part.ts";

const POLL_MS = 100;

/** A part that is not started before there is no objection any more; until then its status is the objection. */
export function holdPart(
  first: PartSpec,
  objection: () => Promise<string | undefined>,
  begin: (spec: PartSpec) => Part,
): Part {
  let spec = first;
  let part: Part | undefined;
  let reason = "not started yet";
  let ending: AbortController | undefined;
  let waiting: Promise<void> = Promise.resolve();
  const hold = () => {
    const held = new AbortController();
    ending = held;
    waiting = (async () => {
      while (!held.signal.aborted) {
        const found = await objection();
        if (held.signal.aborted) return;
        if (found === undefined) {
          part = begin(spec);
          return;
        }
        reason = found;
        await wait(POLL_MS, held.signal);
      }
    })();
  };
  hold();
  return {
    name: first.name,
    status() {
      if (part !== undefined) return part.status();
      return ending?.signal.aborted ? { phase: "stopped", restarts: 0 } : { phase: "waiting", reason, restarts: 0 };
    },
    start() {
      if (part !== undefined) part.start();
      else if (ending?.signal.aborted) hold();
    },
    setSpec(next) {
      spec = next;
      part?.setSpec(next);
    },
    async stop() {
      ending?.abort();
      await waiting;
      await part?.stop();
    },
    kill: (signal) => part?.kill(signal) ?? false,
  };
}
