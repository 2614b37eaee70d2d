import { expect, test, vi } from "vitest";
import { type Logger, silentLogger } from "../base/logger.ts";
import { usableThreads } from "./start-dns-server.ts";

test.each([
  { requested: 1, obstacle: "taken", used: 1, warnings: 0 },
  { requested: 2, obstacle: undefined, used: 2, warnings: 0 },
  { requested: 64, obstacle: undefined, used: 64, warnings: 0 },
  { requested: 2, obstacle: "taken", used: 1, warnings: 1 },
  { requested: 0, obstacle: undefined, used: 1, warnings: 1 },
  { requested: -3, obstacle: undefined, used: 1, warnings: 1 },
  { requested: 65, obstacle: undefined, used: 64, warnings: 1 },
  { requested: Number.NaN, obstacle: undefined, used: 1, warnings: 1 },
])("of $requested threads $used serve where sharing a port fails with $obstacle", async (given) => {
  const warn = vi.fn<Logger["warn"]>();
  expect(await usableThreads(given.requested, { ...silentLogger, warn }, async () => given.obstacle)).toBe(given.used);
  expect(warn).toHaveBeenCalledTimes(given.warnings);
  if (warn.mock.calls.length > 0) expect(warn.mock.calls[0]?.[1]).toMatchObject({ requested: given.requested });
});

test("one thread does not even try", async () => {
  const findObstacle = vi.fn(async () => undefined);
  await usableThreads(1, silentLogger, findObstacle);
  expect(findObstacle).not.toHaveBeenCalled();
});
