import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../test/support/wait/until.ts";
import { lastLines, prefixLines } from "./core/log-lines.ts";
import { findLogs, followLogs, writeServices } from "./follow-logs.ts";
import { createLogTimes } from "./process/log-times.ts";
import { limitLogs } from "./start-upkeep.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-logs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
const names = (wanted?: string) => findLogs(folder, wanted).map(({ name }) => name);

test.each([
  { text: "a\nb\nc\n", count: 2, last: "b\nc\n" },
  { text: "a\nb\nc", count: 2, last: "b\nc" },
  { text: "a\n", count: 5, last: "a\n" },
  { text: "", count: 5, last: "" },
  { text: "a\nb\n", count: 0, last: "" },
])("the last $count lines of $text", ({ text, count, last }) => {
  expect(lastLines(text, count)).toBe(last);
});

test("every line has its source in front, coloured on a terminal only", () => {
  expect(prefixLines("web/app", "a\n\nb\n", { width: 9, hasColours: false })).toBe(
    "web/app   | a\nweb/app   | \nweb/app   | b\n",
  );
  expect(prefixLines("web/app", "a\n", { width: 7, hasColours: true })).toMatch(
    /^\u001b\[\d+mweb\/app \|\u001b\[0m a\n$/,
  );
});

test("logs are found by workload or by part; a workload's name is not a prefix of another's", () => {
  for (const name of ["web.app.log", "web.agent.log", "web-v2.app.log", "control-plane.log", "web.app.log.1"])
    put(name, "");
  expect(names()).toEqual(["control-plane", "web-v2/app", "web/agent", "web/app"]);
  expect(names("web")).toEqual(["web/agent", "web/app"]);
  expect(names("web/app")).toEqual(["web/app"]);
  expect(names("nobody")).toEqual([]);
});

test("following shows the tail, then whole lines as they come, also after the file was cut off", async () => {
  put("web.app.log", "one\ntwo\nthree\n");
  const ending = new AbortController();
  let shown = "";
  const following = followLogs(findLogs(folder, undefined), {
    tail: 2,
    follow: true,
    signal: ending.signal,
    show: (_, text) => {
      shown += text;
    },
  });
  await until(() => shown === "two\nthree\n");
  appendFileSync(join(folder, "web.app.log"), "four\nfi");
  await until(() => shown.endsWith("four\n"));
  appendFileSync(join(folder, "web.app.log"), "ve\n");
  await until(() => shown.endsWith("four\nfive\n"));
  truncateSync(join(folder, "web.app.log"));
  appendFileSync(join(folder, "web.app.log"), "again\n");
  await until(() => shown.endsWith("five\nagain\n"));
  ending.abort();
  await following;
});

function follow(tail: number) {
  const ending = new AbortController();
  const state = { shown: "", pieces: 0 };
  const show = (_: unknown, text: string) => {
    state.shown += text;
    state.pieces += 1;
  };
  const following = followLogs(findLogs(folder, undefined), { tail, follow: true, signal: ending.signal, show });
  const end = async () => {
    ending.abort();
    await following;
  };
  return { state, end };
}

test("someone who writes more than fits at once is followed without a gap", async () => {
  put("web.app.log", "first\n");
  const { state, end } = follow(5);
  await until(() => state.shown === "first\n");
  const lines = Array.from({ length: 50_000 }, (_, index) => `line ${index} ${"x".repeat(10)}\n`).join("");
  appendFileSync(join(folder, "web.app.log"), lines);
  await until(() => state.shown.endsWith("line 49999 xxxxxxxxxx\n"));
  expect(state.shown === `first\n${lines}`).toBe(true);
  expect(state.pieces).toBeGreaterThan(2);
  await end();
});

test("a line longer than a piece does not hold back what comes behind it", async () => {
  put("web.app.log", "first\n");
  const { state, end } = follow(5);
  await until(() => state.shown === "first\n");
  appendFileSync(join(folder, "web.app.log"), `${"x".repeat(600_000)}\nlast\n`);
  await until(() => state.shown.endsWith("x\nlast\n"));
  await end();
});

test("a log that is removed, as by the next start, is followed again when it is back", async () => {
  put("web.app.log", "first\n");
  const { state, end } = follow(5);
  await until(() => state.shown === "first\n");
  rmSync(join(folder, "web.app.log"));
  // Longer than a poll: the file is missed at least once. A machine that stands still only adds to it.
  const missed = Date.now() + 500;
  await until(() => Date.now() > missed);
  put("web.app.log", "second\n");
  await until(() => state.shown === "first\nsecond\n");
  await end();
});

test("a log that grows too large is cut off, with one earlier file retained", () => {
  put("web.app.log", "x".repeat(2000));
  put("small.log", "y");
  limitLogs(folder, () => undefined, 1000);
  expect(statSync(join(folder, "web.app.log")).size).toBe(0);
  expect(readFileSync(join(folder, "web.app.log.1"), "utf8")).toHaveLength(2000);
  limitLogs(folder, () => undefined, 1000);
  expect(readdirSync(folder).sort()).toEqual(["small.log", "web.app.log", "web.app.log.1"]);
  expect(readFileSync(join(folder, "small.log"), "utf8")).toBe("y");
});

test("of a log that has grown beyond all measure only the end is retained", () => {
  put("web.app.log", `${"x".repeat(1_000_000)}end`);
  limitLogs(folder, () => undefined, 1000);
  const kept = readFileSync(join(folder, "web.app.log.1"), "utf8");
  expect(kept).toHaveLength(2000);
  expect(kept).toMatch(/xend$/);
  expect(statSync(join(folder, "web.app.log")).size).toBe(0);
});

test("a log that leads nowhere does not keep the others from being cut off", () => {
  symlinkSync("nowhere", join(folder, "a.log"));
  put("web.app.log", "x".repeat(2000));
  limitLogs(folder, () => undefined, 1000);
  expect(statSync(join(folder, "web.app.log")).size).toBe(0);
});

test("what was written since a time is shown, also of a log that was moved away meanwhile", async () => {
  const path = join(folder, "web.app.log");
  const times = createLogTimes();
  const write = (text: string, at: number) => {
    appendFileSync(path, text);
    times.note(path, statSync(path).size, at);
  };
  const signal = new AbortController().signal;
  const since = async (at: number, tail = Number.POSITIVE_INFINITY) => {
    let shown = "";
    const show = (_: unknown, text: string) => {
      shown += text;
    };
    await followLogs(findLogs(folder, "web"), { tail, since: at, follow: false, signal, show });
    return shown;
  };
  write("one\n", 10_000);
  write("two\n", 20_000);
  write("three\n", 30_000);
  expect(await since(0)).toBe("one\ntwo\nthree\n");
  expect(await since(15_000)).toBe("two\nthree\n");
  expect(await since(15_000, 1)).toBe("three\n");
  expect(await since(30_000)).toBe("");
  limitLogs(folder, () => undefined, 5);
  // The log begins anew; of what was moved away the first four bytes are gone.
  write("four\n", 40_000);
  expect(await since(25_000)).toBe("three\nfour\n");
  expect(await since(35_000)).toBe("four\n");
});

test("logs of a service are those of its workloads", () => {
  for (const name of ["web-v1.app.log", "web-v1.agent.log", "web-v2.app.log", "web2.app.log"]) put(name, "");
  const workloads = ["web-v1", "web-v2"].map((name) => ({ name, service: "web" }));
  writeServices(folder, { workloads });
  expect(names("web")).toEqual(["web-v1/agent", "web-v1/app", "web-v2/app"]);
  expect(names("web/app")).toEqual(["web-v1/app", "web-v2/app"]);
});
