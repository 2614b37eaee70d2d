import { afterAll, expect } from "vitest";

/** What a forgotten stop() leaves behind. Timers are not counted: the test runner has its own. */
const LEAKABLE =
  /^(TCPServerWrap|TCPSocketWrap|TLSWrap|UDPWrap|UDPSendWrap|PipeWrap|PipeServerWrap|ProcessWrap|FSEventWrap|StatWatcher|MessagePort|Worker)$/;
const DEADLINE_MS = 15_000;

const counted = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => LEAKABLE.test(name))
    .sort();
const before = counted();

/** Runs once per test file, in the file's own process: what the tests opened must be closed when they are done. */
afterAll(async () => {
  const deadline = Date.now() + DEADLINE_MS;
  while (counted().length > before.length && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const left = counted();
  if (left.length > before.length) expect(left, "open handles after the last test of this file").toEqual(before);
});
