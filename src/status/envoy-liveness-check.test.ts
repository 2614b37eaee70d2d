import { expect, test } from "vitest";
import { CodedError } from "../base/coded-error.ts";
import { envoyLivenessCheck } from "./envoy-liveness-check.ts";

type Look = "LIVE" | "DRAINING" | "INITIALIZING" | "timeout" | "unreachable";

async function verdicts(looks: readonly Look[]): Promise<(string | undefined)[]> {
  const left = [...looks];
  const check = envoyLivenessCheck({
    ready: async () => {
      const look = left.shift() ?? "LIVE";
      if (look === "timeout" || look === "unreachable") throw new CodedError(look, look);
      return { isLive: look === "LIVE", state: look };
    },
  });
  const found: (string | undefined)[] = [];
  for (const _look of looks) found.push(await check());
  return found;
}

const hung = "Envoy does not answer on its admin port";
const drained = "server is not live, current state is: DRAINING";

test.each<{ looks: Look[]; want: (string | undefined)[] }>([
  { looks: ["LIVE", "LIVE"], want: [undefined, undefined] },
  { looks: ["timeout", "LIVE", "timeout"], want: [undefined, undefined, undefined] },
  { looks: ["timeout", "timeout", "timeout", "LIVE"], want: [undefined, hung, hung, undefined] },
  { looks: ["timeout", "unreachable", "timeout"], want: [undefined, undefined, undefined] },
  { looks: ["DRAINING", "LIVE"], want: [drained, undefined] },
  { looks: ["INITIALIZING"], want: [undefined] },
])("looks $looks", async ({ looks, want }) => {
  expect(await verdicts(looks)).toEqual(want);
});
