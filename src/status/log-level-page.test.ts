import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { startTestStatusServer } from "../../test/support/status/server.ts";
import { createLog } from "../base/log/log.ts";
import { scopesAt } from "../base/log/scope-levels.ts";
import { silentLogger } from "../base/logger.ts";
import { logLevelPage } from "./start-status.ts";

async function startPage() {
  const log = createLog(() => 0);
  const lines: string[] = [];
  log.configure({
    json: false,
    outputLevels: scopesAt("info"),
    stackLevels: new Map(),
    callerScopes: new Set(),
    targets: [{ write: (line) => void lines.push(line), close: () => undefined }],
  });
  const server = await startTestStatusServer(silentLogger);
  server.route("*", "/debug/logging", logLevelPage(log), { localOnly: true });
  return { log, lines, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("a level is changed at run time, for loggers handed out before too", async () => {
  await using t = await startPage();
  const dns = t.log.logger.scope("dns");
  dns.debug("before");
  const answer = await fetchBytes(t.server.port, "/debug/logging?level=dns:debug,default:error", {}, "POST");
  expect(JSON.parse(answer.text)).toMatchObject({ dns: "debug", default: "error", sds: "info" });
  dns.debug("after");
  t.log.logger.info("quiet");
  expect(t.lines.join("")).toMatch(/^\S+\tdebug\tdns\tafter\n$/);
  expect(JSON.parse((await fetchBytes(t.server.port, "/debug/logging")).text)).toMatchObject({ dns: "debug" });
});

test.each([
  { query: "level=all:debug", want: { dns: "debug", default: "debug" } },
  { query: "level=warn", want: { dns: "info", default: "warn" } },
  { query: "level=none,dns:fatal", want: { dns: "fatal", default: "none" } },
])("$query", async ({ query, want }) => {
  await using t = await startPage();
  expect(JSON.parse((await fetchBytes(t.server.port, `/debug/logging?${query}`, {}, "PUT")).text)).toMatchObject(want);
});

test.each([
  { query: "", says: "no level" },
  { query: "level=loud", says: 'level "loud": allowed are debug, info, warn, error, fatal, none' },
  { query: "level=dns:debug,nothing:info", says: 'no scope named "nothing"; there are: all, ads,' },
  { query: "level=a:b:c", says: 'level "a:b:c"' },
])("$query is refused and changes nothing", async ({ query, says }) => {
  await using t = await startPage();
  const answer = await fetchBytes(t.server.port, `/debug/logging?${query}`, {}, "POST");
  expect(answer.status).toBe(400);
  expect(answer.text).toContain(says);
  expect(t.log.levels().get("dns")).toBe("info");
});
