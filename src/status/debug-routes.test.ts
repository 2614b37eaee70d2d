import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { startTestStatusServer } from "../../test/support/status/server.ts";
import { silentLogger } from "../base/logger.ts";
import { addDebugRoutes, type DebugSources } from "./debug-routes.ts";

const TABLE = '{"table":{"a.example":{"ips":["1.2.3.4"]}}}';
const secrets = { describeCertificates: () => [{ resource: "default" }] };

async function startWith(sources: Pick<DebugSources, "dns" | "xds">) {
  const server = await startTestStatusServer(silentLogger);
  addDebugRoutes(server, { ...sources, secrets });
  return server;
}

test.each([
  { what: "without a DNS server", dns: undefined, status: 404, type: "text/plain; charset=utf-8", body: "{}" },
  {
    what: "before the first table",
    dns: { describe: () => undefined },
    status: 404,
    type: "text/plain; charset=utf-8",
    body: "{}",
  },
  { what: "of an empty table", dns: { describe: () => "{}" }, status: 200, type: "application/json", body: "{}" },
  { what: "of a table", dns: { describe: () => TABLE }, status: 200, type: "application/json", body: TABLE },
])("/debug/ndsz $what is $status $body", async ({ dns, status, type, body }) => {
  await using server = await startWith({ dns, xds: undefined });
  for (const method of ["GET", "POST"]) {
    const answer = await fetchBytes(server.port, "/debug/ndsz", {}, method);
    expect(answer).toMatchObject({ status, text: body });
    expect(answer.headers["content-type"]).toBe(type);
  }
});

test("the other pages are JSON for readers, and there is none about streams without an xDS proxy", async () => {
  const xds = { describeStreams: () => [{ id: 1 }] };
  await using server = await startWith({ dns: undefined, xds });
  expect(JSON.parse((await fetchBytes(server.port, "/debug/certs")).text)).toEqual([{ resource: "default" }]);
  expect(JSON.parse((await fetchBytes(server.port, "/debug/xdsz")).text)).toEqual([{ id: 1 }]);
  expect((await fetchBytes(server.port, "/debug/certs", {}, "POST")).status).toBe(405);
  await using bare = await startWith({ dns: undefined, xds: undefined });
  expect((await fetchBytes(bare.port, "/debug/xdsz")).status).toBe(404);
});
