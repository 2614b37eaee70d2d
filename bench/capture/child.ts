import { silentLogger } from "../../src/base/logger.ts";
import { buildRules } from "../../src/capture/core/build-rules.ts";
import { restoreInputs } from "../../src/capture/core/dry-run.ts";
import { parsePacket } from "../../src/capture/core/packet.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "../../src/capture/core/settings.ts";
import { createWalker } from "../../src/capture/core/walk.ts";
import { hasNativeTables } from "../../src/capture/nft-program.ts";
import { runCapture } from "../../src/capture/run-capture.ts";
import { runProgram } from "../../src/capture/run-program.ts";
import { parseIp } from "../../src/net/ip.ts";
import { NO_NAMES } from "../../test/support/capture/owner-names.ts";

const ROUNDS = 100;
const WALKS = 200_000;

/** The injected default: everything but the health ports. */
const settings = {
  ...DEFAULT_SETTINGS,
  inboundPortsInclude: "*",
  inboundPortsExclude: "15090,15021,15020",
  outboundIpRangesInclude: "*",
};

/** Runs inside the namespace; prints its figures as one line of JSON. */
const result = { bareMs: [] as number[], applyMs: [] as number[], againMs: [] as number[], walksPerSecond: 0 };
const [input] = restoreInputs(settings);

const timed = async (times: number[], action: () => Promise<unknown>) => {
  const start = performance.now();
  await action();
  times.push(performance.now() - start);
};
const bare = () => runProgram({ program: "iptables-nft-restore", args: ["--noflush"], input: input?.text ?? "" });
// The command looks for native rules while it still reads its settings: part of its start-up, not of the apply.
const hasNative = hasNativeTables({ run: runProgram });
const apply = () =>
  runCapture({ settings, options: DEFAULT_OPTIONS, env: {}, log: silentLogger, print: () => undefined, hasNative });
const clear = async () => {
  for (const action of ["-F", "-X"]) await runProgram({ program: "iptables-nft", args: ["-t", "nat", action] });
};

await hasNative;
await apply();
for (let round = 0; round < ROUNDS; round += 1) {
  const restores = async () => {
    await clear();
    await timed(result.bareMs, bare);
  };
  const applies = async () => {
    await clear();
    await timed(result.applyMs, apply);
    await timed(result.againMs, apply);
  };
  // By turns the first: what ran before leaves its traces in caches.
  for (const each of round % 2 === 0 ? [restores, applies] : [applies, restores]) await each();
}

const walk = createWalker(buildRules(settings), { names: NO_NAMES, backend: "iptables" });
const own = JSON.stringify(parseIp("10.0.0.10"));
const packets = ["tcp 10.0.0.10:40000 -> 1.2.3.4:443 uid 1000", "tcp 9.9.9.9:4000 -> 10.0.0.10:8080 in eth0"].map(
  (text) => parsePacket(text, (address) => JSON.stringify(address) === own),
);
const start = performance.now();
for (let count = 0; count < WALKS; count += packets.length) for (const packet of packets) walk(packet);
result.walksPerSecond = WALKS / ((performance.now() - start) / 1000);
process.stdout.write(JSON.stringify(result));
