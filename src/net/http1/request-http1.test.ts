import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../base/close-stack.ts";
import { BLOCK_BYTES, createBlockPool } from "../../status/metrics/block-pool.ts";
import { type BodyStream, type Http1Response, requestHttp1 } from "./request-http1.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

/** Serves each connection with a function; `requests` is what clients sent. */
async function serve(answer: (socket: Socket) => void) {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      requests.push(bytes.toString());
      answer(socket);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as { port: number }).port, requests };
}

function get(port: number, more: Partial<Parameters<typeof requestHttp1>[0]> = {}): Promise<Http1Response> {
  return requestHttp1({
    url: new URL(`http://127.0.0.1:${port}/stats/prometheus?usedonly`),
    headers: { accept: "text/plain" },
    stallMs: 30_000,
    signal: new AbortController().signal,
    pool: createBlockPool(2),
    ...more,
  });
}

/** The body, or the error it ended with. */
function read(body: BodyStream): Promise<Buffer> {
  const all = new PassThrough();
  body.on("data", (chunk) => void all.write(Buffer.from(chunk)));
  body.on("end", () => all.end());
  body.on("close", () => body.errored !== null && all.destroy(body.errored));
  const whole = buffer(all);
  body.resume();
  return whole;
}

test("a request is one GET that wants no second one, and line ends cannot slip into it", async () => {
  const { port, requests } = await serve((socket) => socket.end("HTTP/1.1 204 No Content\r\n\r\n"));
  const answer = await get(port, { headers: { accept: "text/plain", "user-agent": "a\r\nx: y" } });
  answer.body.destroy();
  expect(answer.status).toBe(204);
  expect(requests).toEqual([
    `GET /stats/prometheus?usedonly HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\naccept: text/plain\r\nuser-agent: a  x: y\r\nConnection: close\r\n\r\n`,
  ]);
});

describe("a body", () => {
  test.each([
    { name: "with a length", head: "Content-Length: 5\r\n", body: "a 1\n\n", ends: false },
    {
      name: "in chunks",
      head: "Transfer-Encoding: chunked\r\n",
      body: "2\r\na \r\n3\r\n1\n\n\r\n0\r\n\r\n",
      ends: false,
    },
    { name: "up to the end of the connection", head: "", body: "a 1\n\n", ends: true },
  ])("$name is read whole", async ({ head, body, ends }) => {
    const { port } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${head}\r\n${body}`);
      if (ends) socket.end();
    });
    const answer = await get(port);
    expect(answer.headers.get("content-type")).toBe("text/plain");
    expect((await read(answer.body)).toString()).toBe("a 1\n\n");
  });

  test("larger than the buffer it is read into arrives as it was", async () => {
    const sent = Buffer.alloc(10 * BLOCK_BYTES + 17, "0123456789abcdef\n");
    const { port } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${sent.length}\r\n\r\n`);
      socket.write(sent);
    });
    expect((await read((await get(port)).body)).equals(sent)).toBe(true);
  });

  test("waits while its reader pauses, and goes on where it stood", async () => {
    const sent = Buffer.alloc(20 * BLOCK_BYTES, "x");
    const { port } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${sent.length}\r\n\r\n`);
      socket.write(sent);
    });
    const { body } = await get(port);
    let seen = 0;
    let pauses = 0;
    const done = new Promise<void>((resolve, reject) => {
      body.on("data", (chunk) => {
        seen += chunk.length;
        body.pause();
        pauses += 1;
        setImmediate(() => body.resume());
      });
      body.on("end", resolve);
      body.on("close", () => body.errored !== null && reject(body.errored));
    });
    body.resume();
    await done;
    expect(seen).toBe(sent.length);
    expect(pauses).toBeGreaterThan(1);
  });

  test.each([
    { name: "breaks off", head: "Content-Length: 100\r\n", body: "a 1\n", ends: true, error: { code: "cut-off" } },
    {
      name: "has a chunk that is none",
      head: "Transfer-Encoding: chunked\r\n",
      body: "2\r\na \r\nzz\r\n",
      ends: false,
      error: { code: "malformed-chunk" },
    },
  ])("that $name fails", async ({ head, body, ends, error }) => {
    const { port } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n`);
      setImmediate(() => (ends ? socket.end(body) : socket.write(body)));
    });
    // In one read with its head it fails the request itself.
    await expect(get(port).then((answer) => read(answer.body))).rejects.toMatchObject(error);
  });

  test("that falls silent fails as a timeout", async () => {
    const { port } = await serve((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na"));
    // Long enough for the head to come on any machine.
    const answer = await get(port, { stallMs: 3000 });
    await expect(read(answer.body)).rejects.toMatchObject({ code: "timeout", message: "nothing came for 3000 ms" });
  });

  test("ends with the caller's patience", async () => {
    const patience = new AbortController();
    const { port } = await serve((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na"));
    const answer = await get(port, { signal: patience.signal });
    const whole = read(answer.body);
    patience.abort();
    await expect(whole).rejects.toMatchObject({ code: "timeout", message: "context deadline exceeded" });
  });
});

describe("no answer", () => {
  test.each([
    {
      name: "is not HTTP",
      sends: "SSH-2.0-OpenSSH\r\n\r\n",
      error: { code: "bad-answer", message: "malformed HTTP response" },
    },
    {
      name: "has no length that can be read",
      sends: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      error: { code: "malformed-chunk" },
    },
    {
      name: "has a head without an end",
      sends: `HTTP/1.1 200 OK\r\nX: ${"y".repeat(70_000)}`,
      error: { code: "bad-answer", message: "the answer's head is too large" },
    },
  ])("comes of what $name", async ({ sends, error }) => {
    const { port } = await serve((socket) => socket.write(sends));
    await expect(get(port)).rejects.toMatchObject(error);
  });

  test("comes of a server that hangs up", async () => {
    const { port } = await serve((socket) => socket.end());
    await expect(get(port)).rejects.toMatchObject({ code: "cut-off" });
  });

  test("comes of a server that says nothing", async () => {
    const { port } = await serve(() => undefined);
    await expect(get(port, { stallMs: 30 })).rejects.toMatchObject({ code: "timeout" });
  });

  test("comes of a closed port, and of a signal that has aborted", async () => {
    const { port } = await serve(() => undefined);
    await expect(get(port, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "timeout" });
    await opened.close();
    await expect(get(port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

test("the buffer that is read into goes back when the connection is over", async () => {
  const inner = createBlockPool(2);
  let out = 0;
  const pool = {
    take: () => {
      out += 1;
      return inner.take();
    },
    give: (block: Buffer) => {
      out -= 1;
      inner.give(block);
    },
  };
  const { port } = await serve((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  const answer = await get(port, { pool });
  expect(out).toBe(1);
  await read(answer.body);
  await expect.poll(() => out).toBe(0);
});
