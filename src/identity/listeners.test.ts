import { expect, test, vi } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { createListeners } from "./listeners.ts";

test("the first listener of a name and the last one to leave are notified", () => {
  const listeners = createListeners(recordLog());
  const [one, two] = [vi.fn(), vi.fn()];
  expect(listeners.add("default", one)).toBe(true);
  expect(listeners.add("default", two)).toBe(false);
  expect(listeners.add("ROOTCA", one)).toBe(true);
  expect(listeners.names()).toEqual(["default", "ROOTCA"]);
  expect(listeners.remove("default", one)).toBe(false);
  expect(listeners.remove("default", two)).toBe(true);
  expect(listeners.names()).toEqual(["ROOTCA"]);
  expect(listeners.add("default", one)).toBe(true);
});

test("only listeners of the name are called, each once", () => {
  const listeners = createListeners(recordLog());
  const [one, two, elsewhere] = [vi.fn(), vi.fn(), vi.fn()];
  listeners.add("default", one);
  listeners.add("default", one);
  listeners.add("default", two);
  listeners.add("ROOTCA", elsewhere);
  listeners.notify("default");
  listeners.notify("nobody");
  expect(one).toHaveBeenCalledTimes(1);
  expect(two).toHaveBeenCalledTimes(1);
  expect(elsewhere).not.toHaveBeenCalled();
});

test("who left, or never came, is not the last to leave", () => {
  const listeners = createListeners(recordLog());
  const [one, stranger] = [vi.fn(), vi.fn()];
  listeners.add("default", one);
  expect(listeners.remove("default", stranger)).toBe(false);
  expect(listeners.remove("ROOTCA", one)).toBe(false);
  expect(listeners.remove("default", one)).toBe(true);
  expect(listeners.remove("default", one)).toBe(false);
});

test("a listener that fails is logged with the name, and the others are notified all the same", () => {
  const log = recordLog();
  const listeners = createListeners(log);
  const after = vi.fn();
  listeners.add("default", () => {
    throw new Error("no room");
  });
  listeners.add("default", after);
  listeners.notify("default");
  expect(after).toHaveBeenCalledTimes(1);
  expect(log.lines).toEqual([
    expect.objectContaining({ level: "error", fields: { name: "default", error: "no room" } }),
  ]);
});

test("a listener may leave while it is notified, and bring another that waits for the next time", () => {
  const listeners = createListeners(recordLog());
  const later = vi.fn();
  const once = vi.fn(() => {
    listeners.remove("default", once);
    listeners.add("default", later);
  });
  listeners.add("default", once);
  listeners.notify("default");
  expect(later).not.toHaveBeenCalled();
  listeners.notify("default");
  expect(once).toHaveBeenCalledTimes(1);
  expect(later).toHaveBeenCalledTimes(1);
});
