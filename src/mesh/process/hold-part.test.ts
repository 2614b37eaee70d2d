import { expect, test } from "vitest";
import { until } from "../../../test/support/wait/until.ts";
import { holdPart } from "./hold-part.ts";
import type { Part, PartSpec } from "./start-part.ts";

const SPEC: PartSpec = { name: "web/app", command: ["x"], env: {}, directory: "/", logFile: "/dev/null", graceMs: 1 };

/** Says what is asked of it. */
function scriptedPart(calls: string[]) {
  return (spec: PartSpec): Part => {
    calls.push(`begin ${spec.command.join(" ")}`);
    return {
      name: spec.name,
      status: () => ({ phase: "running", pid: 1, since: 0, restarts: 0 }),
      start: () => void calls.push("start"),
      setSpec: (next) => void calls.push(`spec ${next.command.join(" ")}`),
      stop: async () => void calls.push("stop"),
      kill: () => true,
    };
  };
}

test("a held part says what it waits for, begins with its latest spec, and then is the part itself", async () => {
  const calls: string[] = [];
  let objection: string | undefined = "waits for db";
  const part = holdPart(SPEC, async () => objection, scriptedPart(calls));
  await until(() => (JSON.stringify(part.status()).includes("waits for db") ? undefined : "not asked yet"));
  expect(part.status()).toEqual({ phase: "waiting", reason: "waits for db", restarts: 0 });
  expect(part.kill("SIGKILL")).toBe(false);
  part.setSpec({ ...SPEC, command: ["y"] });
  objection = undefined;
  await until(() => (part.status().phase === "running" ? undefined : "held"));
  part.setSpec({ ...SPEC, command: ["z"] });
  expect(part.kill("SIGKILL")).toBe(true);
  await part.stop();
  part.start();
  expect(calls).toEqual(["begin y", "spec z", "stop", "start"]);
});

test("one that is stopped while it is held does not begin until it is started", async () => {
  const calls: string[] = [];
  let objection: string | undefined = "not yet";
  const part = holdPart(SPEC, async () => objection, scriptedPart(calls));
  await part.stop();
  expect(part.status()).toEqual({ phase: "stopped", restarts: 0 });
  objection = undefined;
  part.start();
  await until(() => (part.status().phase === "running" ? undefined : "held"));
  expect(calls).toEqual(["begin x"]);
});
