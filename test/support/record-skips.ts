import { afterEach } from "vitest";

/** The JSON report has no place for a skip's reason; the task's own notes do. */
afterEach((context) => {
  const { result, meta } = context.task;
  const note = result?.note;
  if (note !== undefined) Object.assign(meta, { skipReason: note });
});
