import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { startTestStatusServer } from "../../test/support/status/server.ts";
import { silentLogger } from "../base/logger.ts";
import { registerProfiling } from "./profiling.ts";

async function start() {
  const server = await startTestStatusServer(silentLogger);
  registerProfiling(server);
  return server;
}

test("a CPU profile shows functions of this process; a second one at the same time has to wait", async () => {
  await using server = await start();
  const ask = () => fetchBytes(server.port, "/debug/pprof/profile?seconds=0.4");
  const answers = (await Promise.all([ask(), ask()])).sort((a, b) => a.status - b.status);
  expect(answers.map(({ status }) => status)).toEqual([200, 503]);
  const [{ text, headers } = { text: "", headers: {} }] = answers;
  expect(headers["content-disposition"]).toContain(".cpuprofile");
  const profile = JSON.parse(text) as { nodes: unknown[]; endTime: number; startTime: number };
  expect(profile.nodes.length).toBeGreaterThan(1);
  expect(profile.endTime - profile.startTime).toBeGreaterThan(300_000);
});

test("a heap snapshot is one", async () => {
  await using server = await start();
  const { text, status } = await fetchBytes(server.port, "/debug/pprof/heap");
  expect(status).toBe(200);
  expect(text.slice(0, 60)).toContain('{"snapshot":{"meta"');
  expect(text.trimEnd().endsWith("}")).toBe(true);
});

test.each(["0", "-1", "301", "x"])("%s seconds are refused", async (seconds) => {
  await using server = await start();
  const answer = await fetchBytes(server.port, `/debug/pprof/profile?seconds=${seconds}`);
  expect(answer).toMatchObject({ status: 400, text: expect.stringContaining(`seconds is "${seconds}"`) });
});

test("the index, the command line and unknown pages", async () => {
  await using server = await start();
  expect((await fetchBytes(server.port, "/debug/pprof/")).text).toContain("/debug/pprof/profile\t");
  expect((await fetchBytes(server.port, "/debug/pprof/cmdline")).text).toContain("node");
  expect((await fetchBytes(server.port, "/debug/pprof/symbol")).text).toBe("num_symbols: 0\n");
  expect((await fetchBytes(server.port, "/debug/pprof/nothing")).status).toBe(404);
  expect((await fetchBytes(server.port, "/debug/pprof")).headers.location).toBe("/debug/pprof/");
});
