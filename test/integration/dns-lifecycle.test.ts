import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { ask, connectTcp, exchangeUdp, queryBytes } from "../support/dns/client.ts";
import { recordingLogger, startDnsFixture } from "../support/dns/fixture.ts";
import { decodeMessage } from "../support/dns/message.ts";
import { startDnsUpstream } from "../support/dns/upstream.ts";
import { freePort } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

/** Sockets and watchers of this process; timers are the test runner's too. */
const openHandles = () =>
  process.getActiveResourcesInfo().filter((name) => /^(UDPWrap|TCPServerWrap|TCPSocketWrap|StatWatcher)$/.test(name))
    .length;

/** Closing takes a turn or two of the event loop: what was closed before must be gone when anything is counted. */
async function settledHandles(expected: number): Promise<number> {
  await until(() => expect(openHandles()).toBe(expected));
  return expected;
}

async function squatTcp(host: string, port: number) {
  const server = createServer().listen(port, host);
  await once(server, "listening");
  return {
    port,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => void server.close(() => closed())),
  };
}

async function squatUdp(host: string, port: number) {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4").bind(port, host);
  await once(socket, "listening");
  return {
    port: socket.address().port,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => void socket.close(closed)),
  };
}

describe("a start that fails", () => {
  test("because the TCP port is taken names it and leaves the UDP port free", async () => {
    await using squatter = await squatTcp("127.0.0.1", await freePort("127.0.0.1"));
    const listen = `127.0.0.1:${squatter.port}`;
    await expect(startDnsFixture({ listen })).rejects.toMatchObject({
      code: "address-in-use",
      message: `listen tcp ${listen}: bind: address already in use`,
    });
    await using _free = await squatUdp("127.0.0.1", squatter.port);
  });

  test("because the UDP port is taken names it and leaves the TCP port free", async () => {
    await using squatter = await squatUdp("127.0.0.1", await freePort("127.0.0.1"));
    const listen = `127.0.0.1:${squatter.port}`;
    await expect(startDnsFixture({ listen })).rejects.toMatchObject({
      code: "address-in-use",
      message: `listen udp ${listen}: bind: address already in use`,
    });
    await using _free = await squatTcp("127.0.0.1", squatter.port);
  });

  test("on the second address frees both sockets of the first", async () => {
    await using squatter = await squatTcp("::1", await freePort("127.0.0.1", "::1"));
    const { port } = squatter;
    const resolvConf = "nameserver 10.0.0.10\nnameserver fd00::10\n";
    await expect(startDnsFixture({ listen: `localhost:${port}`, resolvConf })).rejects.toMatchObject({
      message: `listen tcp [::1]:${port}: bind: address already in use`,
    });
    await using _udp = await squatUdp("127.0.0.1", port);
    await using _tcp = await squatTcp("127.0.0.1", port);
  });

  test.each([
    {
      what: "resolv.conf is missing",
      options: { resolvConf: null },
      code: "resolv-conf",
      message: /^open .*resolv\.conf: no such file or directory$/,
    },
    {
      what: "resolv.conf is a folder",
      options: { resolvConfPath: "/tmp" },
      code: "resolv-conf",
      message: /^open \/tmp: is a directory$/,
    },
    {
      what: "the address has no port",
      options: { listen: "foo" },
      code: "invalid-address",
      message: /^dns address must be a valid host:port: address foo: missing port in address$/,
    },
    {
      what: "the address has no port, in the words of 1.20",
      options: { listen: "foo", generation: "1.20" as const },
      code: "invalid-address",
      message: /^dns address must be a valid host:port$/,
    },
    {
      what: "the host is unknown",
      options: { listen: "no-such-host.invalid:0" },
      code: "listen-failed",
      message: /lookup no-such-host\.invalid: no such host$/,
    },
    {
      what: "the address is not ours",
      options: { listen: "192.0.2.1:15053" },
      code: "listen-failed",
      message: /cannot assign requested address$/,
    },
  ])("because $what says so and leaves nothing open", async ({ options, code, message }) => {
    const before = await settledHandles(0);
    await expect(startDnsFixture(options)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await until(() => expect(openHandles()).toBe(before));
  });

  test("because it was aborted while starting leaves nothing open", async () => {
    const before = await settledHandles(0);
    for (let turns = 0; turns < 12; turns++) {
      const aborting = new AbortController();
      const starting = startDnsFixture({
        signal: aborting.signal,
        resolvConf: "nameserver 10.0.0.10\nnameserver ::2\n",
      });
      const outcome = starting.then(
        (fixture) => fixture[Symbol.asyncDispose](),
        (failure: Error) => expect(failure.name).toBe("AbortError"),
      );
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      aborting.abort();
      await outcome;
    }
    await until(() => expect(openHandles()).toBe(before));
  });

  test("logs the reason once", async () => {
    await using squatter = await squatTcp("127.0.0.1", await freePort("127.0.0.1"));
    const log = recordingLogger();
    await expect(startDnsFixture({ listen: `127.0.0.1:${squatter.port}`, log })).rejects.toThrow();
    expect(log.lines.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
      `Failed to listen on tcp port 127.0.0.1:${squatter.port}: listen tcp 127.0.0.1:${squatter.port}: bind: address already in use`,
    ]);
  });
});

describe("where the server listens", () => {
  test("on both loopback addresses with one port, when there are servers of both families", async () => {
    await using fixture = await startDnsFixture({ resolvConf: "nameserver 10.0.0.10\nnameserver fd00::10\n" });
    const [ipv4, ipv6] = fixture.server.addresses;
    expect(ipv4?.host).toBe("127.0.0.1");
    expect(ipv6).toEqual({ host: "::1", port: ipv4?.port });
    for (const address of fixture.server.addresses) {
      for (const transport of ["udp", "tcp"] as const) {
        expect(await ask(transport, address, { name: "productpage." })).toMatchObject({
          answers: [{ text: "9.9.9.9" }],
        });
      }
    }
    const port = ipv4?.port;
    expect(fixture.log.lines.map(({ message }) => message)).toEqual([
      `Starting local udp DNS server on 127.0.0.1:${port}`,
      `Starting local tcp DNS server on 127.0.0.1:${port}`,
      `Starting local udp DNS server on [::1]:${port}`,
      `Starting local tcp DNS server on [::1]:${port}`,
    ]);
  });

  test("on IPv6 alone, when all servers are IPv6", async () => {
    await using fixture = await startDnsFixture({ resolvConf: "nameserver fd00::10\n" });
    expect(fixture.server.addresses.map(({ host }) => host)).toEqual(["::1"]);
    expect(await ask("udp", fixture.address, { name: "productpage." })).toMatchObject({
      answers: [{ text: "9.9.9.9" }],
    });
  });

  test("on what the system calls localhost, when there is no server", async () => {
    await using fixture = await startDnsFixture({ resolvConf: "" });
    expect(["127.0.0.1", "::1"]).toContain(fixture.address.host);
    expect(await ask("tcp", fixture.address, { name: "productpage." })).toMatchObject({ rcode: 0 });
  });

  test.each([":0", "0.0.0.0:0"])(
    "on every address of the machine for '%s', answering from the one that was asked",
    async (listen) => {
      await using fixture = await startDnsFixture({ listen });
      const { port } = fixture.address;
      const ours = Object.values(networkInterfaces()).flatMap((infos = []) => infos);
      for (const { address } of ours.filter(({ family }) => family === "IPv4")) {
        const socket = createSocket("udp4");
        socket.connect(port, address);
        await once(socket, "connect");
        socket.send(queryBytes({ name: "productpage." }));
        // A connected socket takes replies from the asked address only.
        const [reply] = await once(socket, "message", { signal: AbortSignal.timeout(5_000) });
        expect(decodeMessage(reply)).toMatchObject({ rcode: 0 });
        socket.close();
        expect(await ask("tcp", { host: address, port }, { name: "productpage." })).toMatchObject({ rcode: 0 });
      }
    },
  );

  test("not on port 53 without the right to it", async () => {
    const started = startDnsFixture({ listen: "127.0.0.1:53", asRoot: false });
    const fixture = await started.catch((failure: Error) => failure);
    // The default port may be in use on this machine; either way it is what was tried.
    if (fixture instanceof Error) return expect(fixture.message).toContain("127.0.0.1:15053");
    await using owned = fixture;
    expect(owned.address).toEqual({ host: "127.0.0.1", port: 15053 });
    expect(owned.log.lines).toContainEqual(
      expect.objectContaining({ level: "error", message: "DNS address :53 and not running as root, use default" }),
    );
  });
});

describe("stopping", () => {
  test("twice is the same as once, and every socket, timer and watch is gone", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    const before = await settledHandles(2);
    const listen = `127.0.0.1:${await freePort("127.0.0.1")}`;
    const fixture = await startDnsFixture({ listen, upstreamPort: upstream.port, forwardTimeoutMs: 60_000 });
    const idle = await connectTcp(fixture.address);
    idle.on("error", () => undefined);
    const waiting = ask("udp", fixture.address, { name: "x.example." });
    await until(() => expect(upstream.queries).toHaveLength(1));
    const first = fixture.server.stop();
    expect(fixture.server.stop()).toBe(first);
    await first;
    // Whoever still waited was reported.
    expect(await waiting).toMatchObject({ rcode: 2 });
    await fixture[Symbol.asyncDispose]();
    idle.destroy();
    await until(() => expect(openHandles()).toBe(before));
    await using _udp = await squatUdp("127.0.0.1", fixture.address.port);
    await using _tcp = await squatTcp("127.0.0.1", fixture.address.port);
  });

  test("does not wait for upstream, in either mode and on either transport", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    for (const forwardMode of ["sequential", "parallel"] as const) {
      const fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 60_000, forwardMode });
      const asked = upstream.queries.length;
      const waiting = [
        ask("udp", fixture.address, { name: "x.example." }),
        ask("tcp", fixture.address, { name: "x.example." }),
      ];
      for (const reply of waiting) reply.catch(() => undefined);
      await until(() => expect(upstream.queries.length).toBe(asked + 2));
      await fixture[Symbol.asyncDispose]();
      await Promise.allSettled(waiting);
    }
  });

  test("gives up sockets that were used for forwarding, also while running", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    const before = await settledHandles(2);
    await using fixture = await startDnsFixture({
      upstreamPort: upstream.port,
      forwardTimeoutMs: 50,
      limits: { queriesPerSocket: 1 },
    });
    const own = await settledHandles(before + 2);
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => ask("udp", fixture.address, { name: `${index}.example.` })),
    );
    await settledHandles(own);
  });
});

test("an answer over UDP comes from the address and port that were asked", async () => {
  await using fixture = await startDnsFixture();
  expect(decodeMessage(await exchangeUdp(fixture.address, queryBytes({ name: "productpage." })))).toMatchObject({
    rcode: 0,
  });
});
