import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import { startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { fetchAnswer, fetchOk } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { openSotw, testNode, URLS } from "../test/support/xds/ads-client.ts";

const STREAMS = 150;
const NAMES = 90_000;
/** PILOT_MAX_NAMES_PER_IDENTITY by default. */
const LIMIT = 250_000;

test("one token with 150 streams of 90,000 names each holds a quarter of a million names; the rest is refused, and others are served", async () => {
  await using opened = new CloseStack();
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
  const server = await startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files: {},
    isReady: async () =>
      (await fetchAnswer(`http://127.0.0.1:${http}/ready`).catch(() => ({ status: 0 }))).status === 200,
  });
  opened.defer(async () => server[Symbol.asyncDispose]());
  const tls = { ca: readFileSync(server.rootFile, "utf8") };
  const token = await server.token("default", "greedy");
  const outcomes: string[] = [];
  for (let at = 0; at < STREAMS; at++) {
    const stream = opened.add(openSotw({ port: secureGrpc, tls, token }));
    const resourceNames = Array.from({ length: NAMES }, (_, index) => `${at}-${index}.example`);
    stream.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames });
    outcomes.push(
      await Promise.race([stream.next().then(() => "served"), stream.ended.then(({ code }) => code ?? "")]),
    );
  }
  const served = outcomes.filter((outcome) => outcome === "served").length;
  expect(served).toBe(Math.floor(LIMIT / NAMES));
  expect(outcomes.filter((outcome) => outcome === "RESOURCE_EXHAUSTED")).toHaveLength(STREAMS - served);
  const metrics = await fetchOk(`http://127.0.0.1:${monitoring}/metrics`);
  expect(metrics).toContain(`pilot_xds_identity_limit_refusals_total{limit="names"} ${STREAMS - served}`);
  const other = opened.add(openSotw({ port: secureGrpc, tls, token: await server.token("default", "modest") }));
  other.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames: ["a.example"] });
  expect((await other.next()).typeUrl).toBe(URLS.EDS);
  console.log(
    "MEM",
    readFileSync(`/proc/${server.pid}/status`, "utf8")
      .match(/Vm(HWM|RSS):.*|RssAnon:.*/g)
      ?.join(" "),
  );
});
