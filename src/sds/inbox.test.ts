import { expect, test } from "vitest";
import { Inbox } from "./inbox.ts";

/** Requests the test hands over one by one. */
function createRequests() {
  const waiting: string[] = [];
  let wake: (() => void) | undefined;
  let end: { failure?: Error } | undefined;
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    push: (...requests: string[]) => {
      waiting.push(...requests);
      wake?.();
    },
    end: (failure?: Error) => {
      end = failure === undefined ? {} : { failure };
      wake?.();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const request = waiting.shift();
        if (request !== undefined) {
          taken += 1;
          yield request;
        } else if (end !== undefined) {
          if (end.failure !== undefined) throw end.failure;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  };
}

test("requests come before changes, and changes of one name are one", async () => {
  const inbox = new Inbox<string>();
  const requests = createRequests();
  for (const name of ["a", "b", "a"]) inbox.changed(name);
  requests.push("first");
  void inbox.pump(requests);
  await new Promise(setImmediate); // the pump has reached the request
  await expect(inbox.next()).resolves.toEqual({ type: "request", request: "first" });
  await expect(inbox.next()).resolves.toEqual({ type: "changed", names: ["a", "b"] });
});

test("at most one request is taken ahead of its handling", async () => {
  const inbox = new Inbox<string>();
  const requests = createRequests();
  requests.push(...Array.from({ length: 100 }, (_, index) => String(index)));
  void inbox.pump(requests);
  for (let index = 0; index < 50; index += 1) {
    await expect(inbox.next()).resolves.toEqual({ type: "request", request: String(index) });
    expect(requests.taken).toBeLessThanOrEqual(index + 2);
  }
  inbox.close();
});

test("a clean end is reported after the requests before it, a failure is thrown", async () => {
  for (const failure of [undefined, new Error("reset")]) {
    const inbox = new Inbox<string>();
    const requests = createRequests();
    requests.push("last");
    requests.end(failure);
    void inbox.pump(requests);
    await expect(inbox.next()).resolves.toMatchObject({ type: "request" });
    if (failure === undefined) await expect(inbox.next()).resolves.toEqual({ type: "end" });
    else await expect(inbox.next()).rejects.toBe(failure);
  }
});

test("closing lets the pump go and ignores later changes", async () => {
  const inbox = new Inbox<string>();
  const requests = createRequests();
  requests.push("unhandled");
  const pumped = inbox.pump(requests);
  await new Promise(setImmediate);
  inbox.close();
  inbox.changed("a");
  requests.end();
  await pumped;
  await expect(inbox.next()).resolves.toEqual({ type: "end" });
});
