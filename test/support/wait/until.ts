/** Returns false, or a text that says why not, while the condition does not hold; anything else, `undefined` included, when it does. */
type Check = () => unknown;
type Arguments = [what: string, check: Check, limitMs?: number] | [check: Check, limitMs?: number];

/** For the machine, not for the behaviour: a test that means a time says so. */
const LIMIT_MS = 45_000;
/** What one look counts for at most: while the machine stands still, so does what is waited for. */
const LONGEST_TURN_MS = 2000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 40;

/**
 * Waits for a condition with a deadline; the error names it and says what was missing last. A failed `expect` and an error with a code
 * (a refused connection, a missing file) count as "not yet"; any other error ends the wait at once.
 */
export async function until(...given: Arguments): Promise<void> {
  const [what, check, limitMs = LIMIT_MS] = isNamed(given) ? given : [String(given[0]), ...given];
  let [waitedMs, last] = [0, performance.now()];
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const missing = await missingFor(check);
    if (missing === undefined) return;
    const now = performance.now();
    waitedMs += Math.min(now - last, LONGEST_TURN_MS);
    last = now;
    if (waitedMs > limitMs) {
      throw new Error(
        `not within ${limitMs} ms: ${what}${missing.text === "" ? "" : `; last: ${missing.text}`}`,
        missing,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function isNamed(given: Arguments): given is [string, Check, number?] {
  return typeof given[0] === "string";
}

async function missingFor(check: Check): Promise<{ readonly text: string; readonly cause?: Error } | undefined> {
  try {
    const outcome = await check();
    if (outcome === false) return { text: "" };
    return typeof outcome === "string" ? { text: outcome } : undefined;
  } catch (thrown) {
    if (!(thrown instanceof Error) || !("code" in thrown || thrown.name === "AssertionError")) throw thrown;
    return { text: thrown.message, cause: thrown };
  }
}
