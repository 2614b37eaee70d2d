import { createServer } from "node:http";
import { expect, test } from "vitest";
import { freePort } from "../../test/support/net/free-ports.ts";
import { createAdminClient } from "./admin-client.ts";
import { createAdminPoll } from "./admin-poll.ts";

const LIMITS = { timeoutMs: 30_000, maxBytes: 1000 };

test("Envoy is asked again and again on one connection, by its next process on another, and its absence is an AdminError", async () => {
  const port = await freePort();
  const poll = createAdminPoll(createAdminClient({ host: "127.0.0.1", port }));
  await expect(poll.fetch("/stats", LIMITS)).rejects.toMatchObject({
    name: "AdminError",
    message: `Get "http://127.0.0.1:${port}/stats": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
  for (const process of ["first", "second"]) {
    let connections = 0;
    const server = createServer((request, response) => void response.end(`${process} ${request.url}`));
    server.on("connection", () => {
      connections += 1;
    });
    await new Promise<void>((done) => void server.listen(port, "127.0.0.1", done));
    for (let time = 0; time < 3; time += 1)
      expect(await poll.fetch("/stats?a", LIMITS)).toEqual({ status: 200, body: `${process} /stats?a` });
    expect(connections).toBe(1);
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
  poll.close();
});

test("who comes while it is in use is answered on a connection of its own", async () => {
  let connections = 0;
  const server = createServer((request, response) => void response.end(request.url));
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const poll = createAdminPoll(createAdminClient({ host: "127.0.0.1", port }));
  const answers = await Promise.all(["/a", "/b"].map((path) => poll.fetch(path, LIMITS)));
  expect(answers.map(({ body }) => body)).toEqual(["/a", "/b"]);
  expect(connections).toBe(2);
  poll.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
