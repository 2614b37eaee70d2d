import { once } from "node:events";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import { createTokenManager } from "../../src/sts/create-token-manager.ts";
import { startStsServer } from "../../src/sts/start-sts-server.ts";
import type { TokenManager } from "../../src/sts/token-manager.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { startFakeGoogle } from "../support/sts/google-endpoints.ts";
import "../support/no-open-handles.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const form = (fields: Record<string, string> = {}) =>
  new URLSearchParams({ grant_type: GRANT, subject_token: "a.b.c", subject_token_type: JWT, ...fields }).toString();

async function start(manager: TokenManager) {
  const log = recordLog();
  const sts = opened.add(await startStsServer({ port: 0, manager, log }));
  const url = `http://127.0.0.1:${sts.port}`;
  const post = (body: string) =>
    httpRequest({ url: `${url}/token`, method: "POST", headers: FORM, body, timeoutMs: 10_000 });
  return { sts, log, url, post };
}

async function startGoogle() {
  const google = await startFakeGoogle();
  opened.add(google);
  const manager = createTokenManager("GoogleTokenExchange", {
    trustDomain: "cluster.local",
    identityProvider: "idp",
    projectNumber: "1234",
    federatedEndpoint: `${google.url}/v1/token`,
    credentialsUrl: google.url,
    log: recordLog(),
  });
  return { google, ...(await start(manager)) };
}

const hanging: TokenManager = { exchange: () => new Promise(() => undefined), status: () => [] };

async function rawClient(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  opened.defer(async () => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

test("a lifetime that no date can hold does not spoil the status", async () => {
  const { google, post, url } = await startGoogle();
  google.answer("federated", { body: { access_token: "f", expires_in: 1e300 } });
  expect((await post(form())).status).toBe(200);
  const status = await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 });
  expect(status.status).toBe(200);
  expect(status.body).toContain("federated token");
});

test("a token in the wrong field is reported to its sender and not to the log", async () => {
  const { post, log } = await startGoogle();
  const token = `${"h".repeat(60)}.${"c".repeat(400)}.signature`;
  const answer = await post(form({ subject_token_type: token }));
  expect(answer.status).toBe(400);
  expect(answer.body).toContain(token);
  expect(log.text()).toContain("subject_token_type is invalid");
  expect(log.text()).not.toContain("signature");
});

test("connections that cannot be accepted are reported, and the next ones are served", async () => {
  const listening = vi.spyOn(Server.prototype, "listen");
  const { sts, url } = await startGoogle();
  const portOf = (server: unknown) => ((server as Server).address() as AddressInfo | null)?.port;
  const listener = listening.mock.contexts.find((each) => portOf(each) === sts.port);
  listening.mockRestore();
  for (const failure of ["first", "second", "third"]) (listener as unknown as Server).emit("error", new Error(failure));
  await expect(sts.ended).rejects.toThrow("first");
  expect((await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 })).status).toBe(200);
});

test("a body of many megabytes is refused with an answer, and costs no memory", async () => {
  const { sts } = await startGoogle();
  const socket = await rawClient(sts.port);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += String(chunk);
  });
  const head = `POST /token HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${FORM["content-type"]}\r\n`;
  socket.write(`${head}content-length: 100000000\r\n\r\n`);
  const piece = Buffer.alloc(64 * 1024, 120);
  for (let sent = 0; sent < 64 && !socket.destroyed; sent += 1) if (!socket.write(piece)) await drainedOrClosed(socket);
  await expect.poll(() => answer).toContain("413");
});

test("more clients than one Envoy has are turned away instead of using up the descriptors", async () => {
  const { sts, url } = await start(hanging);
  const sockets = await Promise.all(Array.from({ length: 300 }, () => rawClient(sts.port)));
  await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBe(44);
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(() =>
      httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 }).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
});

test("exchanges under way are bounded, however many subjects a client makes up", async () => {
  const google = await startFakeGoogle();
  opened.add(google);
  let answer: () => void = () => undefined;
  google.answer("federated", { after: new Promise<void>((resolve) => (answer = resolve)), status: 400 });
  const { post } = await start(
    createTokenManager("GoogleTokenExchange", {
      trustDomain: "t",
      identityProvider: "i",
      projectNumber: "1",
      federatedEndpoint: `${google.url}/v1/token`,
      log: recordLog(),
    }),
  );
  const refused: string[] = [];
  const clients = Array.from({ length: 80 }, async (_, index) => {
    const { status, body } = await post(form({ subject_token: `subject-${index}` }));
    if (status === 500) refused.push(body);
  });
  await expect.poll(() => [google.calls.length, refused.length]).toEqual([64, 16]);
  answer();
  await Promise.all(clients);
  expect(refused.every((body) => body.includes("too many token exchanges at a time"))).toBe(true);
  expect(refused).toHaveLength(16);
});

test.each([
  { what: "no HTTP at all", bytes: "\x16\x03\x01\x02\x00\x01" },
  { what: "a header without end", bytes: `GET / HTTP/1.1\r\nx: ${"y".repeat(100_000)}` },
  {
    what: "two lengths",
    bytes: "POST /token HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
  },
  {
    what: "a chunk of junk",
    bytes: `POST /token HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${FORM["content-type"]}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
  },
])("$what ends its own connection only", async ({ bytes }) => {
  const { sts, url, log } = await startGoogle();
  const socket = await rawClient(sts.port);
  socket.resume().write(bytes);
  await once(socket, "close");
  expect((await httpRequest({ url: `${url}/stsStatus`, timeoutMs: 5_000 })).status).toBe(200);
  expect(log.lines.filter((line) => line.level === "error")).toEqual([]);
});

function drainedOrClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
}
