/** What both libraries have to do: the same calls with the same sizes, written once. */
export interface EchoClient {
  unary(message: Buffer): Promise<unknown>;
  /** Sends the message `count` times on one stream and resolves when all echoes are back. */
  stream(message: Buffer, count: number): Promise<void>;
}

/** All per second of processor time. */
export interface EchoResult {
  readonly unaryPerSecond: number;
  readonly streamPerSecond: number;
  readonly streamMegabytesPerSecond: number;
}

const SMALL = Buffer.alloc(100, 1);
const LARGE = Buffer.alloc(1024 * 1024, 1);
const WORKERS = 50;

/** Says "ready" when idle with one connection made, waits for any message, then measures and reports. */
export async function serveWorkload(client: EchoClient): Promise<void> {
  await client.unary(SMALL);
  process.once("message", () => {
    void measure(client).then((result) => process.send?.(result));
  });
  process.send?.("ready");
}

async function measure(client: EchoClient): Promise<EchoResult> {
  await runUnary(client, 4_000);
  await client.stream(SMALL, 10_000);
  return {
    unaryPerSecond: await rate(20_000, () => runUnary(client, 20_000)),
    streamPerSecond: await rate(100_000, () => client.stream(SMALL, 100_000)),
    streamMegabytesPerSecond: await rate(200, () => client.stream(LARGE, 200)),
  };
}

async function runUnary(client: EchoClient, calls: number): Promise<void> {
  let left = calls;
  const work = async () => {
    while (left-- > 0) await client.unary(SMALL);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
}

/** Per second of processor time: client and server share the process, and the machine's other work does not count. */
async function rate(count: number, run: () => Promise<void>): Promise<number> {
  const started = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(started);
  return (count * 1e6) / (user + system);
}
