import { expect, test } from "vitest";
import { createRepeatLimit } from "./limit-repeats.ts";
import { createLog, type LogSettings } from "./log.ts";
import { applyScopeLevels, scopesAt } from "./scope-levels.ts";

function capture(overrides: Partial<LogSettings> = {}, onFatal?: () => void) {
  const lines: string[] = [];
  const log = createLog(() => 0, onFatal);
  log.configure({
    json: false,
    outputLevels: scopesAt("info"),
    stackLevels: scopesAt("none"),
    callerScopes: new Set(),
    targets: [{ write: (line) => void lines.push(line), close: () => undefined }],
    ...overrides,
  });
  return { log, lines };
}

test("a scope below its threshold says nothing, others are not touched", () => {
  const { log, lines } = capture({ outputLevels: applyScopeLevels(scopesAt("info"), "dns:error") });
  log.logger.scope("dns").info("quiet");
  log.logger.scope("sds").info("loud");
  expect(lines).toEqual(["1970-01-01T00:00:00.000000Z\tinfo\tsds\tloud\n"]);
  expect(log.logger.scope("dns").enabled("warn")).toBe(false);
  expect(log.logger.scope("dns").enabled("error")).toBe(true);
});

test("a level changed at run time reaches loggers handed out before", () => {
  const { log, lines } = capture();
  const dns = log.logger.scope("dns");
  dns.debug("before");
  log.setLevel("dns", "debug");
  dns.debug("after");
  expect(lines.join("")).toBe("1970-01-01T00:00:00.000000Z\tdebug\tdns\tafter\n");
  expect(log.levels().get("dns")).toBe("debug");
  log.setLevel("all", "none");
  dns.error("silenced");
  expect(lines).toHaveLength(1);
});

test("a repeated label keeps its place and takes the new value", () => {
  const { log, lines } = capture();
  log.logger.with({ a: 1, b: 2 }).info("m", { a: 3 });
  expect(lines[0]).toContain("m\ta=3 b=2\n");
});

test("a fatal message ends the process even when its scope is silent", () => {
  let ended = 0;
  const { log, lines } = capture({ outputLevels: scopesAt("none") }, () => {
    ended += 1;
  });
  log.logger.fatal("over");
  expect({ ended, lines }).toEqual({ ended: 1, lines: [] });
});

test("stacks are attached from the configured level up, in every scope", () => {
  const { log, lines } = capture({ stackLevels: applyScopeLevels(scopesAt("none"), "default:error,dns:error") });
  log.logger.info("plain");
  log.logger.scope("dns").info("plain");
  log.logger.error("traced");
  expect(lines.map((line) => line.split("\n").length > 2)).toEqual([false, false, true]);
  expect(lines[2]).toContain("log.test.ts");
});

test("a caller is named for the scopes asked for", () => {
  const { log, lines } = capture({ callerScopes: new Set(["dns"]) });
  log.logger.scope("dns").info("here");
  log.logger.info("not here");
  expect(lines[0]).toMatch(/\tinfo\tdns\tlog\/log\.test\.ts:\d+\there\n$/);
  expect(lines[1]).toBe("1970-01-01T00:00:00.000000Z\tinfo\tnot here\n");
});

test("a target that fails to write does not disturb the others or the caller", () => {
  const lines: string[] = [];
  const full = {
    write: () => {
      throw new Error("no space left on device");
    },
    close: () => undefined,
  };
  const { log } = capture({ targets: [full, { write: (line) => void lines.push(line), close: () => undefined }] });
  expect(() => log.logger.info("kept")).not.toThrow();
  expect(lines).toHaveLength(1);
});

test("a flood of one line is written as a burst, then counted", () => {
  let clock = 0;
  const lines: string[] = [];
  const log = createLog(() => clock);
  const targets = [{ write: (line: string) => void lines.push(line), close: () => undefined }];
  log.configure({ json: false, outputLevels: new Map(), stackLevels: new Map(), callerScopes: new Set(), targets });
  for (let call = 0; call < 1000; call += 1) log.logger.warn("stream refused", { peer: `10.0.0.${call}` });
  expect(lines).toHaveLength(50);
  log.logger.warn("another text");
  expect(lines).toHaveLength(51);
  clock = 1000;
  log.logger.warn("stream refused", { peer: "last" });
  expect(lines.at(-1)).toBe("1970-01-01T00:00:01.000000Z\twarn\tstream refused\tpeer=last suppressed=950\n");
  log.logger.warn("stream refused");
  log.logger.warn("stream refused");
  log.close();
  expect(lines.at(-1)).toBe("1970-01-01T00:00:01.000000Z\twarn\tstream refused\tsuppressed=1\n");
});

test("debug lines are never left out", () => {
  const { log, lines } = capture({ outputLevels: new Map([["default", "debug"]]) });
  for (let call = 0; call < 200; call += 1) log.logger.debug("detail");
  expect(lines).toHaveLength(200);
});

test("texts that are all different do not fill the memory", () => {
  const limit = createRepeatLimit();
  for (let call = 0; call < 5000; call += 1) expect(limit.check("a", "info", `text ${call}`, 0).write).toBe(true);
  expect(limit.takeSuppressed()).toEqual([]);
});
