import { type AddressInfo, connect as connectSocket } from "node:net";
import { connect as connectTls, createSecureContext, createServer as createTlsServer } from "node:tls";
import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import type { ClientCredentials, GrpcChannel } from "../../src/grpc/client/client-types.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import type { Peer } from "../../src/grpc/server/peer.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { type GrpcServer, startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import type { ServerCredentials, ServerTls } from "../../src/net/listen/tls-acceptor.ts";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { ECHO, portOf } from "../support/grpc/echo-server.ts";
import { needs } from "../support/needs.ts";

beforeEach(needs("openssl"));

async function start(tls: ServerTls, peers: Peer[] = [], failures: string[] = []): Promise<GrpcServer> {
  return startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log: {
      ...silentLogger,
      debug: (_message, fields) => void (fields?.reason && failures.push(String(fields.reason))),
    },
    tls,
    methods: [
      implement(ECHO, (request, call) => {
        peers.push(call.peer);
        return request;
      }),
    ],
  });
}

function channelTo(server: GrpcServer, credentials: ClientCredentials | (() => ClientCredentials)): GrpcChannel {
  const tls = typeof credentials === "function" ? credentials : () => credentials;
  return createGrpcChannel(`127.0.0.1:${portOf(server)}`, { tls });
}

describe("the server", () => {
  test("shows the client's certificate, chain and the name it asked for to the handler", async () => {
    const { ca, server: key, client } = opensslCertificates();
    const peers: Peer[] = [];
    await using server = await start(() => ({ ...key, ca, requestCert: true }), peers);
    await using channel = channelTo(server, { ca, ...client, serverName: "localhost" });
    await channel.unary(ECHO, Buffer.from("x"));
    const [peer] = peers;
    expect(peer?.tls).toMatchObject({ authorized: true, serverName: "localhost" });
    expect(peer?.tls?.certificate?.subjectAltName).toBe("URI:spiffe://cluster.local/ns/default/sa/client");
    expect(peer?.tls?.chain[0]?.equals(peer.tls.certificate?.raw ?? Buffer.alloc(0))).toBe(true);
    expect(peer?.address).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  test("asks for its credentials at every handshake: a rotation needs no restart", async () => {
    const { ca, server: key, otherServer } = opensslCertificates();
    let current: ServerCredentials = key;
    await using server = await start(() => current);
    await using before = channelTo(server, { ca, serverName: "localhost" });
    await before.connect();
    current = otherServer;
    await using after = channelTo(server, { ca, serverName: "other.test" });
    await after.connect();
    await using late = channelTo(server, { ca, serverName: "localhost" });
    await expect(late.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect((await before.unary(ECHO, Buffer.from("still served"))).toString()).toBe("still served");
  });

  test("may choose by the name the client asks for", async () => {
    const { ca, server: key, otherServer } = opensslCertificates();
    const contexts = new Map([["other.test", createSecureContext(otherServer)]]);
    const credentials: ServerCredentials = { ...key, SNICallback: (name, done) => done(null, contexts.get(name)) };
    await using server = await start(() => credentials);
    // A name may end in a dot; the server never sees that.
    for (const serverName of ["localhost", "other.test", "localhost.", "other.test."]) {
      await using channel = channelTo(server, { ca, serverName });
      await channel.connect();
    }
  });

  test.each([
    { name: "without a certificate", pick: () => ({}), requires: true, served: false },
    { name: "of a stranger", pick: () => opensslCertificates().strangerClient, requires: true, served: false },
    { name: "without a certificate, which is optional,", pick: () => ({}), requires: false, served: true },
    {
      name: "of a stranger, where that is left to the handler,",
      pick: () => opensslCertificates().strangerClient,
      requires: false,
      served: true,
    },
  ])("serves a client $name: $served", async ({ pick, requires, served }) => {
    const { ca, server: key } = opensslCertificates();
    const peers: Peer[] = [];
    await using server = await start(() => ({ ...key, ca, requestCert: true, rejectUnauthorized: requires }), peers);
    await using channel = channelTo(server, { ca, ...pick(), serverName: "localhost" });
    const answer = channel.unary(ECHO, Buffer.from("x"));
    const refusal = { code: "UNAVAILABLE", message: expect.stringContaining(`127.0.0.1:${portOf(server)}`) };
    if (!served) return await expect(answer).rejects.toMatchObject(refusal);
    await answer;
    expect(peers[0]?.tls?.authorized).toBe(false);
  });

  test("may refuse a client after the handshake, with a reason for the log", async () => {
    const { ca, server: key, strangerClient } = opensslCertificates();
    const failures: string[] = [];
    const credentials: ServerCredentials = {
      ...key,
      ca,
      requestCert: true,
      rejectUnauthorized: false,
      refuse: (socket) => (socket.authorized ? undefined : "unknown trust domain"),
    };
    await using server = await start(() => credentials, [], failures);
    await using channel = channelTo(server, { ca, ...strangerClient, serverName: "localhost" });
    await expect(channel.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(failures).toEqual(["unknown trust domain"]);
  });

  test("survives credentials that cannot be had, and serves when they are back", async () => {
    const { ca, server: key } = opensslCertificates();
    let broken = true;
    const failures: string[] = [];
    await using server = await start(
      () => (broken ? Promise.reject(new Error("no certificate yet")) : key),
      [],
      failures,
    );
    await using channel = channelTo(server, { ca, serverName: "localhost" });
    await expect(channel.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(failures).toEqual(["no credentials to serve with: no certificate yet"]);
    broken = false;
    await channel.unary(ECHO, Buffer.from("x"));
  });

  test("refuses a client that does not speak HTTP/2", async () => {
    const { ca, server: key } = opensslCertificates();
    const failures: string[] = [];
    await using server = await start(() => key, [], failures);
    const socket = connectTls({ port: portOf(server), host: "127.0.0.1", ca, servername: "localhost" });
    socket.on("error", () => undefined).resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(failures).toEqual(["the client does not offer HTTP/2 (ALPN h2)"]);
  });

  test("is not stopped by a client that speaks no TLS, nor held up by one in mid-handshake", async () => {
    const { server: key } = opensslCertificates();
    const server = await start(() => key);
    const plain = connectSocket(portOf(server), "127.0.0.1")
      .on("error", () => undefined)
      .resume();
    plain.write("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => plain.once("close", resolve));
    const mute = connectSocket(portOf(server), "127.0.0.1")
      .on("error", () => undefined)
      .resume();
    await new Promise((resolve) => mute.once("connect", resolve));
    const closed = new Promise((resolve) => mute.once("close", resolve));
    await server.stop();
    await closed;
  });
});

describe("the client", () => {
  test.each([
    { name: "an unknown CA", credentials: () => ({ serverName: "localhost" }), text: /unable to verify|self-signed/ },
    {
      name: "another name",
      credentials: () => ({ ca: opensslCertificates().ca, serverName: "wrong.test" }),
      text: /altnames/,
    },
  ])("refuses a server with $name", async ({ credentials, text }) => {
    await using server = await start(() => opensslCertificates().server);
    await using channel = channelTo(server, credentials());
    await expect(channel.connect()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(text),
      cause: expect.any(Error),
    });
    await expect(channel.connect()).rejects.toMatchObject({
      message: expect.stringContaining(`127.0.0.1:${portOf(server)}`),
    });
  });

  test("checks an address against the addresses of the certificate", async () => {
    const { ca, server: key, otherServer } = opensslCertificates();
    await using good = await start(() => key);
    await using channel = channelTo(good, { ca });
    await channel.connect();
    await using bad = await start(() => otherServer);
    await using refused = channelTo(bad, { ca });
    await expect(refused.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("asks for roots and certificate at every handshake", async () => {
    const { ca, server: key, client, strangerClient } = opensslCertificates();
    await using server = await start(() => ({ ...key, ca, requestCert: true }));
    let own = strangerClient;
    await using channel = channelTo(server, () => ({ ca, ...own, serverName: "localhost" }));
    await expect(channel.unary(ECHO, Buffer.from("x"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    own = client;
    await expect.poll(() => channel.unary(ECHO, Buffer.from("x")).then(String, () => "failed")).toBe("x");
  });

  test("credentials that cannot be had fail the call with their reason", async () => {
    await using channel = createGrpcChannel("127.0.0.1:9", {
      tls: () => Promise.reject(new Error("root file is empty")),
    });
    await expect(channel.connect()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot connect to 127.0.0.1:9: root file is empty",
    });
  });

  test("insists on HTTP/2", async () => {
    const { ca, server: key } = opensslCertificates();
    const server = createTlsServer({ ...key }, (socket) => socket.on("error", () => undefined));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    await using channel = createGrpcChannel(`127.0.0.1:${(server.address() as AddressInfo).port}`, {
      tls: () => ({ ca }),
    });
    await expect(channel.connect()).rejects.toMatchObject({
      message: expect.stringContaining("did not agree to HTTP/2"),
    });
    await new Promise((resolve) => server.close(resolve));
  });
});
