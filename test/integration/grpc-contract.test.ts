import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GRPC_STATUS_NAMES } from "../../src/protocol/grpc-status-names.ts";
import {
  BIDI_END,
  BIDI_FAIL,
  type ContractClient,
  type ContractServer,
  command,
  type Entries,
  STREAM_REFUSE,
  socketFolder,
  TRANSPORTS,
} from "../support/grpc/contract.ts";
import { createJsClient, startJsServer } from "../support/grpc/contract-js.ts";
import { createOurClient, startOurServer } from "../support/grpc/contract-ours.ts";
import { has, needs } from "../support/needs.ts";

const PAIRS = [
  { pair: "our client, grpc-js server", start: startJsServer, create: createOurClient },
  { pair: "grpc-js client, our server", start: startOurServer, create: createJsClient },
  { pair: "our client, our server", start: startOurServer, create: createOurClient },
];

const CASES = PAIRS.flatMap((pair) => TRANSPORTS.map((transport) => ({ ...pair, transport })));

describe.each(CASES)("$pair over $transport", ({ start, create, transport }) => {
  const folder = socketFolder();
  let server: ContractServer;
  let client: ContractClient;
  const isPossible = transport !== "tls" || has("openssl");

  if (transport === "tls") beforeEach(needs("openssl"));
  beforeAll(async () => {
    if (!isPossible) return;
    server = await start(transport, folder.path);
    client = create(server.target, transport);
  });
  afterAll(async () => {
    if (isPossible) await client.stop();
    if (isPossible) await server.stop();
    folder.remove();
  });

  test("a unary call returns the response", async () => {
    const { response } = await client.unary(command({ message: "hello" }));
    expect(response.toString()).toBe('{"message":"hello"}');
  });

  test("an empty message arrives as an empty message", async () => {
    expect((await client.unary(command({ size: 0 }))).response).toHaveLength(0);
  });

  test.each(GRPC_STATUS_NAMES.map((name, status) => ({ name, status })).slice(1))(
    "status $status ($name) reaches the client with its message",
    async ({ status }) => {
      const message = "größer als 100 % \n\u{1f642}";
      await expect(client.unary(command({ status, message }))).rejects.toMatchObject({ code: status, message });
    },
  );

  test("metadata travels both ways: text, binary, repeated names", async () => {
    const metadata: Entries = [
      ["x-text", "one"],
      ["x-text", "two, three"],
      ["x-data-bin", Buffer.from([0, 1, 0xfe, 0xff])],
      ["x-data-bin", Buffer.from("second")],
    ];
    const { headers, trailers } = await client.unary(command({}), { metadata });
    expect(echoed(headers)).toEqual(flattened(metadata));
    expect(echoed(trailers)).toEqual(flattened(metadata));
  });

  test("a failed call carries its trailers", async () => {
    const failed = client.unary(command({ status: 9 }), { metadata: [["x-why", "because"]] });
    await expect(failed).rejects.toMatchObject({ trailers: expect.arrayContaining([["x-why", "because"]]) });
  });

  test("a server stream delivers its messages in order and ends", async () => {
    const sizes: number[] = [];
    for await (const message of await client.serverStream(command({ count: 5, size: 70_000 })))
      sizes.push(message.length);
    expect(sizes).toEqual([70_000, 70_000, 70_000, 70_000, 70_000]);
  });

  test("a server stream that fails delivers what came before its status", async () => {
    const stream = await client.serverStream(command({ count: 2, status: 15, message: "lost" }));
    const received: Buffer[] = [];
    const reading = (async () => {
      for await (const message of stream) received.push(message);
    })();
    await expect(reading).rejects.toMatchObject({ code: 15, message: "lost" });
    expect(received).toHaveLength(2);
  });

  test("a client stream is answered after the half-close", async () => {
    expect((await client.clientStream([Buffer.alloc(10), Buffer.alloc(100_000)])).toString()).toBe("100010");
  });

  test("a client stream without messages is answered", async () => {
    expect((await client.clientStream([])).toString()).toBe("0");
  });

  test("a client stream may be refused before the half-close", async () => {
    const refused = client.clientStream([Buffer.from(STREAM_REFUSE)], { leaveOpen: true });
    await expect(refused).rejects.toMatchObject({ code: 9, message: "refused" });
  });

  test("a bidirectional stream answers message by message; the client half-closes first", async () => {
    const call = await client.bidi();
    for (const text of ["one", "two", "three"]) {
      await call.write(Buffer.from(text));
      expect((await call.responses.next()).value?.toString()).toBe(text);
    }
    call.end();
    expect((await call.responses.next()).done).toBe(true);
  });

  test("a bidirectional stream ends with OK when the server ends first", async () => {
    const call = await client.bidi();
    await call.write(Buffer.from("one"));
    await call.write(Buffer.from(BIDI_END));
    expect((await call.responses.next()).value?.toString()).toBe("one");
    expect((await call.responses.next()).done).toBe(true);
  });

  test("a bidirectional stream ends with the server's status", async () => {
    const call = await client.bidi();
    await call.write(Buffer.from(BIDI_FAIL));
    await expect(call.responses.next()).rejects.toMatchObject({ code: 10, message: "failed as asked" });
  });

  test("the deadline ends a call that hangs, on both sides", async () => {
    const before = server.cancelled.length;
    await expect(client.unary(command({ hang: true }), { timeoutMs: 60 })).rejects.toMatchObject({ code: 4 });
    await expect.poll(() => server.cancelled.length).toBe(before + 1);
  });

  test("cancelling a call reaches the server", async () => {
    const before = server.cancelled.length;
    const controller = new AbortController();
    const stream = await client.serverStream(command({ hang: true }), { signal: controller.signal });
    const responses = stream[Symbol.asyncIterator]();
    await responses.next();
    controller.abort();
    await expect(responses.next()).rejects.toMatchObject({ code: 1 });
    await expect.poll(() => server.cancelled.slice(before)).toEqual(["CANCELLED"]);
  });

  test("cancelling a bidirectional call by hand reaches the server", async () => {
    const before = server.cancelled.length;
    const call = await client.bidi();
    await call.write(Buffer.from("one"));
    await call.responses.next();
    call.cancel();
    await expect(call.responses.next()).rejects.toMatchObject({ code: 1 });
    // grpc-js half-closes before it resets: when the server reads in between, the call has ended well.
    if (create === createOurClient) await expect.poll(() => server.cancelled.length).toBe(before + 1);
  });

  test("a message of 20 MB passes whole", async () => {
    const call = await client.bidi();
    const message = Buffer.alloc(20 * 1024 * 1024);
    for (let index = 0; index < message.length; index += 4096) message.writeUInt32BE(index, index);
    const written = call.write(message);
    expect((await call.responses.next()).value?.equals(message)).toBe(true);
    await written;
    call.end();
    expect((await call.responses.next()).done).toBe(true);
  });

  test("many calls share the connection", async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => client.unary(command({ message: String(index) }))),
    );
    expect(answers.map(({ response }) => JSON.parse(response.toString()).message)).toEqual(
      answers.map((_, index) => String(index)),
    );
  });
});

/** Only what the test sent. grpc-js hands out repeated text values joined, so both sides are compared in that form. */
function echoed(entries: Entries): string[] {
  return flattened(entries.filter(([name]) => name.startsWith("x-")));
}

function flattened(entries: Entries): string[] {
  const joined = new Map<string, string[]>();
  for (const [name, value] of entries) {
    const text = typeof value === "string" ? value : value.toString("hex");
    joined.set(name, [...(joined.get(name) ?? []), text]);
  }
  return [...joined].map(([name, values]) => `${name}=${values.join(", ")}`);
}
