import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { connectTcp, hostPort, socketOptions } from "./probe-target.ts";

test.each([
  {
    name: "an address without a source",
    target: { host: "10.0.0.1", localAddress: undefined },
    options: { host: "10.0.0.1", port: 80, autoSelectFamily: true },
  },
  {
    name: "no host, which is this machine",
    target: { host: "", localAddress: undefined },
    options: { host: "localhost", port: 80, autoSelectFamily: true },
  },
  {
    name: "an address and a source",
    target: { host: "10.0.0.1", localAddress: "127.0.0.6" },
    options: { host: "10.0.0.1", port: 80, localAddress: "127.0.0.6", autoSelectFamily: false },
  },
  {
    name: "a name and a source, whose family the name has to have",
    target: { host: "localhost", localAddress: "127.0.0.6" },
    options: { host: "localhost", port: 80, localAddress: "127.0.0.6", family: 4, autoSelectFamily: false },
  },
  {
    name: "a name and a source of IPv6",
    target: { host: "web", localAddress: "::6" },
    options: { host: "web", port: 80, localAddress: "::6", family: 6, autoSelectFamily: false },
  },
])("a probe of $name connects so", ({ target, options }) => {
  expect(socketOptions(target, 80)).toEqual(options);
});

test.each([
  { host: "10.0.0.1", text: "10.0.0.1:80" },
  { host: "web", text: "web:80" },
  { host: "", text: "localhost:80" },
  { host: "::1", text: "[::1]:80" },
])("the host $host is shown as $text", ({ host, text }) => {
  expect(hostPort(host, 80)).toBe(text);
});

test("the connection comes from the source address", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const { port } = server.address() as { port: number };
  const target = { host: "127.0.0.1", localAddress: "127.0.0.6" };
  const socket = await connectTcp(target, port, new AbortController().signal);
  const [peer] = await accepted;
  expect(peer.remoteAddress).toBe("127.0.0.6");
  socket.destroy();
  peer.destroy();
  await new Promise((resolve) => server.close(resolve));
});

test("a refused connection is an error", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const target = { host: "127.0.0.1", localAddress: undefined };
  await expect(connectTcp(target, port, new AbortController().signal)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("who gave up before does not connect at all", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(connectTcp({ host: "127.0.0.1", localAddress: undefined }, 1, signal)).rejects.toThrow("enough");
});

test("giving up while connecting is a timeout, and nothing stays open", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const giveUp = new AbortController();
  const { port } = server.address() as { port: number };
  const connecting = connectTcp({ host: "127.0.0.1", localAddress: undefined }, port, giveUp.signal);
  giveUp.abort();
  await expect(connecting).rejects.toThrow("i/o timeout");
  await new Promise((resolve) => server.close(resolve));
});
