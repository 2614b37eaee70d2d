import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { answerCall, answerHeaders, toCall } from "./answer-call.ts";
import { type HttpHandler, HttpProblem, json, text } from "./http-types.ts";

async function* chunks(...parts: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}

const callOf = (target: string | undefined, more: Partial<Parameters<typeof toCall>[0]> = {}) =>
  toCall({ method: "GET", target, headers: {}, peerAddress: "127.0.0.1", body: chunks(), ...more });

const says =
  (body: string): HttpHandler =>
  () =>
    text(200, body);

describe("a call", () => {
  test("has its path without query, and the query by name", () => {
    expect(callOf("/debug/edsz?proxyID=web-1&x=%20y")).toMatchObject({ path: "/debug/edsz", method: "GET" });
    expect([...(callOf("/a?proxyID=web-1&x=%20y")?.query ?? [])]).toEqual([
      ["proxyID", "web-1"],
      ["x", " y"],
    ]);
  });

  test.each([
    { target: "/debug/../ready", path: "/ready" },
    { target: "/a/./b", path: "/a/b" },
    { target: "/%2e%2e/x", path: "/x" },
    { target: undefined, path: "/" },
  ])("to $target is to $path", ({ target, path }) => {
    expect(callOf(target)?.path).toBe(path);
  });

  test("whose target is none is not understood", async () => {
    const call = callOf("http://[");
    expect(call).toBeUndefined();
    expect((await answerCall(call, new Map(), recordLog())).status).toBe(404);
  });

  test("has headers that came twice in one line", () => {
    const headers = { accept: ["a", "b"], host: "localhost", gone: undefined };
    expect(callOf("/", { headers })?.headers).toEqual({ accept: "a, b", host: "localhost", gone: undefined });
  });

  test("has a body of text in pieces", async () => {
    const euro = Buffer.from("€");
    const call = callOf("/", { body: chunks("a: ", euro.subarray(0, 1), euro.subarray(1)) });
    expect(await call?.body()).toBe("a: €");
  });

  test("with a body beyond four megabytes is refused, exactly that many are fine", async () => {
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const four = [megabyte, megabyte, megabyte, megabyte];
    expect((await callOf("/", { body: chunks(...four) })?.body())?.length).toBe(4 * megabyte.length);
    const tooLarge = callOf("/", { body: chunks(...four, "x") });
    await expect(tooLarge?.body()).rejects.toMatchObject({ status: 413 });
  });
});

describe("routes", () => {
  const routes = new Map<string, HttpHandler>([
    ["/ready", says("ready")],
    ["/debug", says("index")],
    ["/debug/", says("page")],
    ["/debug/special/", says("special")],
  ]);
  test.each([
    { path: "/ready", body: "ready" },
    { path: "/debug", body: "index" },
    { path: "/debug/", body: "page" },
    { path: "/debug/edsz", body: "page" },
    { path: "/debug/special/x", body: "special" },
    { path: "/debug/special", body: "page" },
    { path: "/ready/", body: "404 page not found" },
    { path: "/Ready", body: "404 page not found" },
    { path: "/", body: "404 page not found" },
  ])("$path is answered with: $body", async ({ path, body }) => {
    const answer = await answerCall(callOf(path), routes, recordLog());
    expect(answer.body).toBe(`${body}\n`);
    expect(answer.status).toBe(body.startsWith("404") ? 404 : 200);
  });
});

describe("a page that fails", () => {
  const answer = async (thrown: Error) => {
    const log = recordLog();
    const failing: HttpHandler = async () => {
      throw thrown;
    };
    return { answer: await answerCall(callOf("/x"), new Map([["/x", failing]]), log), log };
  };

  test("for the caller's mistake says which, and nobody else hears of it", async () => {
    const { answer: told, log } = await answer(new HttpProblem(400, "no proxy of that name"));
    expect(told).toMatchObject({ status: 400, body: "no proxy of that name\n" });
    expect(log.lines).toEqual([]);
  });

  test("for our own says nothing of the cause, which the log has", async () => {
    const { answer: told, log } = await answer(new TypeError("cannot read secret"));
    expect(told).toMatchObject({ status: 500, body: "Internal Server Error\n" });
    expect(log.lines).toMatchObject([{ level: "error", fields: { path: "/x", error: "cannot read secret" } }]);
  });
});

test("answers say how long they are and that their type is to be believed", () => {
  expect(answerHeaders(json({ a: 1 }), 12)).toEqual({
    "Content-Type": "application/json",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": 12,
  });
  expect(answerHeaders({ status: 302, body: "", headers: { Location: "/x" } }, 0)).toEqual({
    "X-Content-Type-Options": "nosniff",
    "Content-Length": 0,
    Location: "/x",
  });
});
