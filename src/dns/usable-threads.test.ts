import { expect, test, vi } from "vitest";
import { type Logger, silentLogger } from "../base/logger.ts";
import { whyNoSharedPorts } from "./port-sharing.ts";
import { usableThreads } from "./usable-threads.ts";

vi.mock("./port-sharing.ts", () => ({ whyNoSharedPorts: vi.fn() }));

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
  vi.mocked(whyNoSharedPorts).mockReset().mockResolvedValue(given.obstacle);
  const warn = vi.fn<Logger["warn"]>();
  expect(await usableThreads(given.requested, { ...silentLogger, warn })).toBe(given.used);
  expect(warn).toHaveBeenCalledTimes(given.warnings);
  if (warn.mock.calls.length > 0) expect(warn.mock.calls[0]?.[1]).toMatchObject({ requested: given.requested });
});

test("one thread does not even try", async () => {
  vi.mocked(whyNoSharedPorts).mockReset();
  await usableThreads(1, silentLogger);
  expect(whyNoSharedPorts).not.toHaveBeenCalled();
});
