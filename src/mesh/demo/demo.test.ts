import { expect, test } from "vitest";
import { freePort } from "../../../test/support/net/free-ports.ts";
import { silentLogger } from "../../base/logger.ts";
import { startHttpServer } from "../../net/http-server/start-http-server.ts";
import { parseMeshFile } from "../core/parse-mesh-file.ts";
import { DEMO_APPS, runDemoApp } from "./demo-app.ts";
import { shopPage } from "./front-page.ts";
import { pick } from "./proxyless-apps.ts";
import { servePage } from "./serve-page.ts";
import { proxylessShopFile, shopFile } from "./shop-file.ts";
import { catalogueOf } from "./shop-services.ts";

test.each([
  { title: "with sidecars", text: shopFile() },
  { title: "without Envoy", text: proxylessShopFile() },
])("the shop $title is a valid mesh file whose applications exist", ({ text }) => {
  const parsed = parseMeshFile(text);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  const used = [...text.matchAll(/demo-app ([\w-]+)/g)].map(([, name]) => name);
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((name) => !DEMO_APPS.includes(name ?? ""))).toEqual([]);
});

test("the error for an unknown application names those that exist", () => {
  const nothing = { env: {}, signal: AbortSignal.abort(), print: () => undefined };
  expect(() => runDemoApp("till", nothing)).toThrow("there is no demo application till; there are front, catalogue");
});

test.each([
  { random: 0, weight: 80 },
  { random: 0.799, weight: 80 },
  { random: 0.801, weight: 20 },
  { random: 0.999, weight: 20 },
])("$random of 80 and 20 picks the cluster of weight $weight", ({ random, weight }) => {
  const cluster = (of: number) => ({ weight: of, endpoints: [], peerNames: undefined });
  expect(pick({ clusters: [cluster(80), cluster(20)] }, random)?.weight).toBe(weight);
  expect(pick(undefined, random)).toBeUndefined();
});

test("versions differ in their products", () => {
  expect(new Set(["v1", "v2", "v3"].map((version) => JSON.stringify(catalogueOf(version).products))).size).toBe(3);
});

test("a browser gets a page, everything else the same as JSON with the caller's identity", async () => {
  const ending = new AbortController();
  let listening = (_url: string): void => undefined;
  const listens = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const options = {
    env: { HOST: "127.0.0.1", PORT: String(await freePort()) },
    signal: ending.signal,
    print: (line: string) => listening(line.replace("listening on ", "http://")),
  };
  const serving = servePage(
    options,
    async () => ({ shop: "front" }),
    (page) => `<h1>${page.shop}</h1>`,
  );
  const url = await listens;
  const ask = async (headers: Record<string, string>) => {
    const answer = await fetch(url, { headers });
    return { type: answer.headers.get("content-type"), vary: answer.headers.get("vary"), body: await answer.text() };
  };
  expect(await ask({ accept: "text/html,application/xhtml+xml;q=0.9" })).toEqual({
    type: "text/html; charset=utf-8",
    vary: "Accept",
    body: "<h1>front</h1>",
  });
  const xfcc = { "x-forwarded-client-cert": "Hash=a;URI=spiffe://cluster.local/ns/shop/sa/load" };
  expect(JSON.parse((await ask(xfcc)).body)).toEqual({
    shop: "front",
    caller: "spiffe://cluster.local/ns/shop/sa/load",
  });
  ending.abort();
  await serving;
});

test("the load says which status the front answered with, in Envoy's words", async () => {
  const port = await freePort();
  await using _front = await startHttpServer({
    listen: [{ host: "127.0.0.1", port }],
    handler: async () => ({ status: 503, contentType: "text/plain", body: "upstream connect error\n" }),
    log: silentLogger,
  });
  const ending = new AbortController();
  const printed = await new Promise<string>((print) => {
    void runDemoApp("load", { env: { FRONT_URL: `http://127.0.0.1:${port}` }, signal: ending.signal, print });
  });
  ending.abort();
  expect(printed).toBe("the front answers 503: upstream connect error");
});

test("what other programs answered cannot end the page's script, and the console's link is text", () => {
  const page = shopPage({ catalogue: { error: "</script><b>" }, stock: {}, price: {} }, 'http://127.0.0.1:1/"><i>');
  expect(page).not.toContain("</script><b>");
  expect(page).not.toContain('"><i>');
  expect(page.match(/<\/script>/g)).toHaveLength(1);
});
