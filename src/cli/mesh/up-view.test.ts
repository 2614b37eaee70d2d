import { expect, test } from "vitest";
import { createAnnouncer, createUpView } from "./up-view.ts";

const waiting = (name: string, waitsFor: string, since = 0) => ({ name, waitsFor, since });
const ready = (name: string) => ({ name, waitsFor: undefined, since: 0 });

test("who waits for the same thing for five seconds is told, again after three times as long, and told to be ready", () => {
  let now = 0;
  const announce = createAnnouncer(() => now);
  const rows = [waiting("web", "app: nothing listens on port 8080 yet")];
  const lines: string[] = [];
  for (now = 0; now <= 16_000; now += 1000) lines.push(...announce(rows));
  expect(lines).toEqual([
    "web/app: nothing listens on port 8080 yet (for 5 s)",
    "web/app: nothing listens on port 8080 yet (for 15 s)",
  ]);
  expect(announce([ready("web")])).toEqual(["web is ready"]);
  expect(announce([ready("web")])).toEqual([]);
});

test("a quick start is not announced", () => {
  const announce = createAnnouncer(() => 4999);
  expect(announce([waiting("web", "agent: starting"), ready("api")])).toEqual([]);
});

function recorded(isTerminal: boolean) {
  let written = "";
  const print = (text: string) => {
    written += text;
  };
  const options = { print, printError: print, isTerminal, hasColours: false, columns: 60, now: () => 7000 };
  return { view: createUpView(options), written: () => written };
}

test("on a terminal a line goes above the table, which is drawn again below it", () => {
  const { view, written } = recorded(true);
  view.progress([ready("api"), waiting("web", "app: nothing listens on port 8080 yet")]);
  view.output("api", "hello\n");
  view.settle();
  const table = "1 of 2 workloads are ready\n  web  7 s  app: nothing listens on port 8080 yet\n";
  expect(written()).toBe(`${table}\u001b[2A\u001b[Japi | hello\n${table}\u001b[2A\u001b[J`);
});

test("a table that has not changed is not drawn again, and a row is never wider than the terminal", () => {
  const { view, written } = recorded(true);
  const rows = [waiting("web", "x".repeat(100))];
  view.progress(rows);
  const once = written();
  view.progress(rows);
  expect(written()).toBe(once);
  expect(Math.max(...once.split("\n").map((line) => line.length))).toBe(59);
});

test("elsewhere there are lines", () => {
  const { view, written } = recorded(false);
  view.progress([waiting("web", "app: nothing listens on port 8080 yet")]);
  view.say("warn", "web/app: exit code 1");
  expect(written()).toBe("web/app: nothing listens on port 8080 yet (for 7 s)\nwarn: web/app: exit code 1\n");
});

test("when all is ready nobody is told so once more", () => {
  const { view, written } = recorded(false);
  view.progress([waiting("web", "app: nothing listens on port 8080 yet")]);
  view.settle(true);
  view.progress([ready("web")]);
  expect(written()).toBe("web/app: nothing listens on port 8080 yet (for 7 s)\n");
});
