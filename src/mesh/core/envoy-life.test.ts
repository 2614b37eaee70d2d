import { expect, test } from "vitest";
import { nextEnvoyLife, UNTROUBLED } from "./envoy-life.ts";

const line = (text: string) => `2026-11-17T19:08:36.103875Z\t${text}\n`;
const KILLED = line("error\tEnvoy exited with error: signal: killed");
const AGAIN = line("warn\tEnvoy is started again after a pause\tdelay=206ms failure=1 of=10");
const AGAIN_TWICE = line("warn\tEnvoy is started again after a pause\tdelay=333ms failure=2 of=10");
const CRASHED = line("error\tEnvoy exited with error: exit status 1");
const REASON = line("error\tEnvoy's own reason\treason=cannot bind '0.0.0.0:15090': Address already in use");
const READY = line("info\tEnvoy proxy is ready");
const ACCESS = '[2026-11-17T19:07:45.894Z] "GET /Envoy HTTP/1.1" 200 - Envoy is started again\n';

test("an Envoy that is killed counts as a restart and is told, every time", () => {
  const first = nextEnvoyLife(UNTROUBLED, ACCESS + KILLED + AGAIN);
  expect(first.news).toEqual(["signal: killed; its agent starts it again after 206ms"]);
  const second = nextEnvoyLife(first.life, KILLED + AGAIN_TWICE);
  expect(second.news).toEqual(["signal: killed; its agent starts it again after 333ms"]);
  expect(second.life.restarts).toBe(2);
});

test("one that cannot start is told with Envoy's own reason, and the same reason only once", () => {
  const first = nextEnvoyLife(UNTROUBLED, CRASHED + REASON + AGAIN);
  expect(first.news).toEqual([
    "exit status 1: cannot bind '0.0.0.0:15090': Address already in use; its agent starts it again after 206ms",
  ]);
  const second = nextEnvoyLife(first.life, CRASHED + REASON + AGAIN_TWICE);
  expect(second.news).toEqual([]);
  expect(second.life).toEqual({
    restarts: 2,
    failure: "exit status 1: cannot bind '0.0.0.0:15090': Address already in use",
  });
});

test("the lines of one end may arrive in several pieces", () => {
  const first = nextEnvoyLife(UNTROUBLED, CRASHED);
  const second = nextEnvoyLife(first.life, REASON);
  expect(nextEnvoyLife(second.life, AGAIN).news[0]).toContain("Address already in use");
});

test("an Envoy that is ready again has no failure, and its restarts stay counted", () => {
  const { life } = nextEnvoyLife(UNTROUBLED, KILLED + AGAIN + READY);
  expect(life).toEqual({ restarts: 1 });
});
