import { expect, test } from "vitest";
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
