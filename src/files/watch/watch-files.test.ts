import type * as Fs from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { until } from "../../../test/support/wait/until.ts";

/** The kernel's answer while the user's inotify limit is reached; no test can reach that limit without harming the machine. */
const limit = vi.hoisted(() => ({ refusals: 0 }));
vi.mock("node:fs", async (importOriginal) => {
  const original = await importOriginal<typeof Fs>();
  const watch = (...args: Parameters<typeof original.watch>) => {
    if (limit.refusals > 0) {
      limit.refusals -= 1;
      throw Object.assign(new Error("ENOSPC: System limit for number of file watchers reached"), { code: "ENOSPC" });
    }
    return original.watch(...args);
  };
  return { ...original, watch };
});

// Loaded again: in a process shared with other test files it may be there already, with the real watch.
vi.resetModules();
const { watchFiles } = await import("./watch-files.ts");

test("watches that cannot be added are counted, logged once, tried again, and miss nothing", async () => {
  await using directory = temporaryFolder();
  const path = join(directory.path, "file");
  await writeFile(path, "one");
  const log = recordLog();
  const seen = { events: 0, failures: 0 };
  limit.refusals = 50;
  const watch = await watchFiles({
    paths: [path],
    debounceMs: 5,
    log,
    onFailure: () => {
      seen.failures += 1;
    },
    onEvent: async () => {
      seen.events += 1;
    },
  });
  expect(seen.failures).toBeGreaterThan(0);
  limit.refusals = 0;
  await until("the retry has looked", () => seen.events > 0);
  const before = seen.events;
  await writeFile(path, "two");
  await until("the write is seen", () => seen.events > before);
  await watch.stop();
  expect(log.printed.filter((line) => line.startsWith("warn"))).toHaveLength(1);
});

test("a listener that throws ends neither the watch nor the process", async () => {
  await using directory = temporaryFolder();
  const path = join(directory.path, "file");
  const log = recordLog();
  let events = 0;
  const watch = await watchFiles({
    paths: [path],
    debounceMs: 5,
    log,
    onFailure: () => undefined,
    onEvent: () => {
      events += 1;
      return Promise.reject(new Error("listener"));
    },
  });
  for (const content of ["one", "two"]) {
    const before = events;
    await writeFile(path, content);
    await until("the change is seen", () => events > before);
  }
  await watch.stop();
  await watch.stop();
  expect(log.printed.some((line) => line.includes("looking at changed files failed"))).toBe(true);
});

test("a change in a directory is an event, and a rescan needs none", async () => {
  await using directory = temporaryFolder();
  const events: string[] = [];
  const watch = (rescanMs?: number) =>
    watchFiles({
      paths: [directory.path],
      debounceMs: 5,
      log: recordLog(),
      ...(rescanMs !== undefined && { rescanMs }),
      onEvent: async () => void events.push(rescanMs === undefined ? "event" : "rescan"),
    });
  const watching = await watch();
  await writeFile(join(directory.path, "new"), "one");
  await until("the event", () => events.includes("event"));
  await watching.stop();
  const rescanning = await watch(5);
  await until("two rescans", () => events.filter((event) => event === "rescan").length > 1);
  await rescanning.stop();
});
