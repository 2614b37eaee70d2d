import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { skipWith } from "../../test/support/skip-with.ts";
import { silentLogger } from "../base/logger.ts";
import { createReadiness } from "../base/readiness.ts";
import { startStatusServer } from "./start-status-server.ts";

/** An address of this machine that is not loopback: whoever connects to it comes from it. */
const outer = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

const FORGED = [
  {},
  { Host: "localhost" },
  { Host: "127.0.0.1:15020", "X-Forwarded-For": "127.0.0.1", "X-Real-IP": "::1", Forwarded: "for=127.0.0.1" },
  { "X-Forwarded-For": "::ffff:127.0.0.1, 127.0.0.1", "True-Client-IP": "127.0.0.1" },
];

function ask(
  host: string,
  port: number,
  path: string,
  headers: Record<string, string>,
  method = "POST",
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, path, headers, method, agent: false }, (incoming) => {
      incoming.resume().on("end", () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

test.each(FORGED)("a caller from outside stays outside with headers %j", async (headers) => {
  const acted: string[] = [];
  const actions = { drain: async () => void acted.push("drain"), quit: () => void acted.push("quit") };
  await using server = await startStatusServer({
    port: 0,
    readiness: createReadiness(silentLogger),
    actions,
    version: {},
    log: silentLogger,
  });
  server.route("*", "/metrics", () => ({ status: 200 }), { loopbackOnly: true });
  for (const path of ["/quitquitquit", "/drain", "/debug/", "/metrics"]) {
    expect(
      await ask("127.0.0.1", server.port, path === "/quitquitquit" || path === "/drain" ? "/debug/" : path, headers),
    ).toBe(200);
    expect(await ask("::1", server.port, "/debug/", headers)).toBe(200);
    if (outer !== undefined) expect(await ask(outer, server.port, path, headers)).toBe(403);
  }
  expect(acted).toEqual([]);
});

test("the machine has an address that is not loopback, or the test above shows half", (context) => {
  if (outer === undefined) skipWith(context, "notice: no network address besides loopback to come from");
  expect(outer).not.toMatch(/^127\./);
});
