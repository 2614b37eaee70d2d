import { expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { startNflogReader } from "./nflog-reader.ts";

function warnings() {
  const said: string[] = [];
  return { said, log: { ...silentLogger, warn: (text: string) => void said.push(text) } };
}

test("without tcpdump there is one warning and a handle that stops at once", async () => {
  const { said, log } = warnings();
  await using reader = await startNflogReader({ log, program: "no-such-tcpdump" });
  expect(reader.isReading).toBe(false);
  expect(said).toEqual([
    expect.stringContaining("traced packets are not logged: no-such-tcpdump cannot read NFLOG group 1337"),
  ]);
  await reader.stop();
});

test("a reader that refuses gives its own reason", async () => {
  const { said, log } = warnings();
  await using reader = await startNflogReader({ log, program: "false" });
  expect(reader.isReading).toBe(false);
  expect(said).toHaveLength(1);
});
