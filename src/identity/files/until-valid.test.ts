import { expect, test } from "vitest";
import { untilValid } from "./file-secrets.ts";

const options = (limitMs: number, signal?: AbortSignal) => ({ firstRetryMs: 5, limitMs, signal });

test("what works at once is not retried", async () => {
  let tries = 0;
  const read = async () => {
    tries += 1;
    return tries;
  };
  await expect(untilValid(read, options(1000))).resolves.toBe(1);
});

test("what works later is waited for", async () => {
  let tries = 0;
  const read = async () => {
    tries += 1;
    if (tries < 4) throw new Error("half-written");
    return "complete";
  };
  await expect(untilValid(read, options(5000))).resolves.toBe("complete");
});

test("after the limit the last cause is reported", async () => {
  await expect(untilValid(() => Promise.reject(new Error("open x: gone")), options(30))).rejects.toMatchObject({
    code: "bad-file",
    message: "context deadline exceeded with last error: open x: gone",
  });
});

test("who stops waiting is let go at once", async () => {
  const gone = new AbortController();
  const waiting = untilValid(() => Promise.reject(new Error("no")), options(60_000, gone.signal));
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
});
