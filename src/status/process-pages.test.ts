import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { startTestStatusServer } from "../../test/support/status/server.ts";
import { silentLogger } from "../base/logger.ts";
import { registerProcessPages } from "./start-status.ts";

async function start(socket = "") {
  const server = await startTestStatusServer(silentLogger);
  registerProcessPages(server, { commandLine: ["node", "main.js", "proxy"], profilingSocket: socket });
  return server;
}

test.each(["heap", "profile", "profile?seconds=1"])(
  "%s is not served on the port, also when it is switched on",
  async (page) => {
    for (const socket of ["", "/run/agent/profiling"]) {
      await using server = await start(socket);
      const answer = await fetchBytes(server.port, `/debug/pprof/${page}`);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain("private key");
      expect(answer.text).toContain(socket === "" ? "PROFILING_SOCKET=" : "--unix-socket /run/agent/profiling");
    }
  },
);

test("the index, the command line and unknown pages", async () => {
  await using server = await start();
  expect((await fetchBytes(server.port, "/debug/pprof/")).text).toContain("/debug/pprof/profile\t");
  expect((await fetchBytes(server.port, "/debug/pprof/cmdline")).text).toBe("node\0main.js\0proxy");
  expect((await fetchBytes(server.port, "/debug/pprof/symbol")).text).toBe("num_symbols: 0\n");
  expect((await fetchBytes(server.port, "/debug/pprof/nothing")).status).toBe(404);
  expect((await fetchBytes(server.port, "/debug/pprof")).headers.location).toBe("/debug/pprof/");
});
