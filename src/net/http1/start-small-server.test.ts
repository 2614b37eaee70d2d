import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { until } from "../../../test/support/wait/until.ts";
import { silentLogger } from "../../base/logger.ts";
import { httpRequest } from "../http-client/http-request.ts";
import { errorText, type HttpAnswer } from "../http-server/http-types.ts";
import { createKeptConnection } from "./kept-connection.ts";
import { type SmallRequest, startSmallServer } from "./start-small-server.ts";

const LIMITS = { timeoutMs: 30_000, maxBytes: 4_000_000 };

async function serve(answer: (request: SmallRequest) => Promise<HttpAnswer>, idleMs = 30_000) {
  const folder = temporaryFolder();
  const path = folder.file("socket");
  const server = await startSmallServer({ listen: { path, mode: 0o600 }, answer, idleMs, log: silentLogger });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** What it says to these bytes until it ends the connection. */
async function sayTo(path: string, bytes: string): Promise<string> {
  const socket = connect({ path });
  socket.write(bytes);
  return text(socket);
}

const echo = async ({ method, target, headers }: SmallRequest): Promise<HttpAnswer> => ({
  status: 200,
  contentType: "application/json",
  body: JSON.stringify({ method, target, host: headers.host, word: "größer" }),
});

test("node's client and a kept connection are answered alike, with the length in bytes", async () => {
  await using served = await serve(echo);
  const { path } = served;
  const kept = createKeptConnection({ address: () => ({ path }), idleMs: 30_000 });
  const { status, body, headers } = await httpRequest({
    url: "http://localhost/a?b",
    target: "/a?b",
    socketPath: path,
  });
  expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
  expect(JSON.parse(body)).toEqual({ method: "GET", target: "/a?b", host: "localhost", word: "größer" });
  for (let time = 0; time < 3; time += 1) expect(await kept.ask("GET", "/a?b", LIMITS)).toEqual({ status, body });
  kept.close();
});

test("requests that come at once, or in pieces, are answered one after the other", async () => {
  const begun: string[] = [];
  await using served = await serve(async ({ target }) => {
    begun.push(target);
    await new Promise(setImmediate);
    return { status: 200, body: `[${target} after ${begun.length}]` };
  });
  const socket = connect({ path: served.path });
  let heard = "";
  socket.on("data", (chunk) => {
    heard += chunk;
  });
  socket.write("GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HT");
  await until(() => (heard.includes("[/2 after 2]") ? undefined : heard));
  socket.write("TP/1.1\r\nConnection: close\r\n\r\n");
  await once(socket, "end");
  socket.destroy();
  expect(heard.match(/\[.*?\]/g)).toEqual(["[/1 after 1]", "[/2 after 2]", "[/3 after 3]"]);
});

test.each([
  { what: "something else than HTTP", bytes: "hello\r\n\r\n", status: 400 },
  { what: "a target that is no path", bytes: "GET http://other/ HTTP/1.1\r\n\r\n", status: 400 },
  { what: "a header without a name", bytes: "GET / HTTP/1.1\r\n: x\r\n\r\n", status: 400 },
  { what: "a body", bytes: "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", status: 413 },
  { what: "a body of unknown length", bytes: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", status: 413 },
  { what: "a head without end", bytes: `GET / HTTP/1.1\r\nx: ${"y".repeat(20_000)}`, status: 431 },
])("$what is refused with $status and the connection is closed", async ({ bytes, status }) => {
  let asked = 0;
  await using served = await serve(async () => {
    asked += 1;
    return errorText(200, "");
  });
  expect(await sayTo(served.path, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
  expect(asked).toBe(0);
});

test("a client that does not read its answers gets no more of them, and a silent one is let go", async () => {
  let asked = 0;
  await using served = await serve(async () => {
    asked += 1;
    return { status: 200, body: "x".repeat(4_000_000) };
  }, 100);
  const socket = connect({ path: served.path }).pause();
  socket.write("GET / HTTP/1.1\r\n\r\n".repeat(50));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const other = connect({ path: served.path });
  await once(other.resume(), "close");
  expect(asked).toBe(1);
  socket.destroy();
});
