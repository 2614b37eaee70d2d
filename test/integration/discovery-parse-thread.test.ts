import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { DIRECT_PARSER } from "../../src/discovery/parse/config-parser.ts";
import { startConfigParser } from "../../src/discovery/parse/start-config-parser.ts";
import { startParseThread } from "../../src/discovery/parse/start-parse-thread.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { bundleProgram } from "../support/process/bundle-program.ts";
import { longestTurnDuring } from "../support/process/longest-turn.ts";
import { until } from "../support/wait/until.ts";
import { startTestInjector } from "../support/webhooks/injector.ts";

let folder = "";
let url: URL;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parse-thread-"));
  const outfile = join(folder, "entry.mjs");
  const banner = { js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);' };
  await bundleProgram("src/discovery/parse/parse-thread-entry.ts", { outfile, banner });
  url = pathToFileURL(outfile);
});
afterAll(() => rm(folder, { recursive: true }));

/** For a machine that does much else. */
const LOAD_LIMIT_MS = 120_000;
/** Within which `/ready` is to answer whatever is being read. */
const READY_MS = 100;

const opened = new CloseStack();
afterEach(() => opened.close());

const start = async () => opened.add(await startDiscoveryServer({ parser: opened.add(startConfigParser(url)) }));
type Server = Awaited<ReturnType<typeof start>>;

/** Answers of `/ready`, asked one after another until `work` is done. */
async function readyAnswersDuring(server: Server, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  let answers = 0;
  while (!isDone) {
    const { status } = await server.get("/ready");
    expect(status).toBe(200);
    answers += 1;
  }
  await done;
  return answers;
}

const virtualService = (name: string, http: string) =>
  `apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: ${name}}\nspec:\n  hosts: [${name}.example]\n  http:\n${http}`;
const route = (index: number) =>
  `  - match:\n    - uri:\n        prefix: /a${index}\n    route:\n    - destination:\n        host: a.example\n        port: {number: 80}\n`;
const routes = (count: number) => Array.from({ length: count }, (_, index) => route(index)).join("");
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

/** Each takes the parser long: about 200 KB and more. */
const HOSTILE = [
  { name: "100,000 keys in one map", text: lines(100_000, (index) => `k${index}: 1`), says: /kind is missing/ },
  { name: "nested `? ` keys", text: `- ${"? ".repeat(240)}a\n`.repeat(200), says: /not allowed as a key/ },
  { name: "5,000 good routes", text: virtualService("big", routes(5_000)), says: /"prefix": "\/a4999"/ },
  { name: "a storm of errors", text: "- a: 'b' c\n".repeat(20_000), says: /line 1: / },
  {
    name: "200 small documents of nested `? ` keys",
    text: `---\n${`- ${"? ".repeat(240)}a\n`.repeat(4)}`.repeat(200),
    says: /not allowed as a key/,
  },
];

describe("while the control plane reads", () => {
  test.each(HOSTILE)("$name from the /config API, /ready is answered all the time", async ({ text, says }) => {
    const server = await start();
    const put = server.get("/config", { method: "PUT", body: text });
    const [answers, longestMs] = await Promise.all([readyAnswersDuring(server, put), longestTurnDuring(put)]);
    expect(answers).toBeGreaterThan(20);
    expect(longestMs).toBeLessThan(READY_MS);
    expect(await (await put).text()).toMatch(says);
  });

  test("an injection config, reviews are answered all the time", async () => {
    const template = (version: number) =>
      `policy: enabled\ntemplates:\n  sidecar: |\n    metadata: {annotations: {version: "${version}"}}\n`;
    const parser = opened.add(startConfigParser(url));
    await using injector = await startTestInjector({ config: template(1), parser });
    const says = (text: string) => until(text, () => injector.log.printed.some((line) => line.includes(text)));
    injector.folder.write("config", `- ${"? ".repeat(240)}a\n`.repeat(400));
    expect(await longestTurnDuring(says("injection config cannot be used"))).toBeLessThan(READY_MS);
    injector.folder.write("config", `${template(2)}${"# a note\n".repeat(10_000)}`);
    await says("injection settings changed");
  });

  test(
    "20,000 routes from files, /ready is answered all the time",
    async () => {
      const server = await start();
      const documents = lines(200, (index) => `---\n${virtualService(`web-${index}`, routes(100))}`);
      server.write("routes.yaml", documents);
      const loaded = until(
        () => server.discovery.snapshot.configs.list("VirtualService").length === 200,
        LOAD_LIMIT_MS,
      );
      const [answers, longestMs] = await Promise.all([readyAnswersDuring(server, loaded), longestTurnDuring(loaded)]);
      expect(answers).toBeGreaterThan(100);
      expect(longestMs).toBeLessThan(READY_MS);
    },
    LOAD_LIMIT_MS,
  );
});

function isDeepFrozen(value: unknown): boolean {
  return (
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))
  );
}

test.each([
  { name: "the thread", startParser: startParseThread },
  { name: "the parser that starts it for large documents", startParser: startConfigParser },
])("what comes from $name is what the direct parser gives, and its objects are frozen", async ({ startParser }) => {
  const parser = opened.add(startParser(url));
  // Small, and in many pieces.
  for (const count of [1, 2000]) {
    const text = Buffer.from(`---\n# none\n---\n${virtualService("web", routes(count))}---\na: [}\n`);
    const options = { defaultNamespace: "shop" };
    const documents = await parser.readDocuments(text, options);
    expect(documents).toEqual(await DIRECT_PARSER.readDocuments(text, options));
    const object = documents[0]?.result?.object;
    expect(object).toMatchObject({ kind: "VirtualService", namespace: "shop", name: "web" });
    expect(isDeepFrozen(object)).toBe(true);
    const known = documents.map(({ digest }) => digest);
    for (const { result } of await parser.readDocuments(text, { ...options, known })) expect(result).toBeUndefined();
  }
  expect(await parser.parseYaml("a: 9007199254740993")).toEqual({ document: { a: 9007199254740993n } });
  expect(await parser.parseYaml("a: *b")).toMatchObject({ fault: { message: "yaml: unknown anchor 'b' referenced" } });
});

test("small documents start no thread, large ones do", async () => {
  const threads = () => readdirSync("/proc/self/task").length;
  const parser = opened.add(startConfigParser(url, { idleMs: 60_000 }));
  const before = threads();
  const options = { defaultNamespace: "shop" };
  const small = lines(500, (index) => `---\n${virtualService(`web-${index}`, routes(2))}`);
  expect(await parser.readDocuments(Buffer.from(small), options)).toHaveLength(500);
  await parser.parseYaml("a: 1");
  expect(threads()).toBe(before);
  const mixed = Buffer.from(`${small}\n---\n${virtualService("big", routes(200))}`);
  const documents = await parser.readDocuments(mixed, options);
  expect(documents).toEqual(await DIRECT_PARSER.readDocuments(mixed, options));
  expect(threads()).toBeGreaterThan(before);
});

test("a large document that is known is not sent to the thread", async () => {
  const parser = opened.add(startConfigParser(new URL("file:///nowhere/entry.mjs")));
  const text = Buffer.from(virtualService("big", routes(200)));
  const [parsed] = await DIRECT_PARSER.readDocuments(text, { defaultNamespace: "shop" });
  const known = [parsed?.digest ?? ""];
  expect(await parser.readDocuments(text, { defaultNamespace: "shop", known })).toEqual([
    { digest: known[0], linesBefore: 0, line: 1 },
  ]);
});

test("a thread that cannot run fails its request and no other", async () => {
  const parser = opened.add(startParseThread(new URL("file:///nowhere/entry.mjs")));
  for (const text of ["a: 1", "b: 1"])
    await expect(parser.parseYaml(text)).rejects.toMatchObject({ code: "parser-failed" });
});

test("an idle thread ends, and the next request has another", async () => {
  const threads = () => readdirSync("/proc/self/task").length;
  const parser = opened.add(startParseThread(url, { idleMs: 20 }));
  const before = threads();
  for (let round = 0; round < 2; round++) {
    expect(await parser.parseYaml("a: 1")).toEqual({ document: { a: 1 } });
    await until(() => threads() <= before, LOAD_LIMIT_MS);
  }
});

test("a control plane that is asked to end does not wait for a load in progress", async () => {
  const thread = opened.add(startParseThread(url));
  const loads: Promise<unknown>[] = [];
  const readDocuments: typeof thread.readDocuments = (...request) => {
    const load = thread.readDocuments(...request);
    loads.push(load.catch((thrown: unknown) => thrown));
    return load;
  };
  const server = opened.add(await startDiscoveryServer({ parser: { ...thread, readDocuments } }));
  server.write("routes.yaml", virtualService("web", routes(20_000)));
  await until(() => loads.length > 0, LOAD_LIMIT_MS);
  await server.discovery.stop();
  expect(await loads[0]).toMatchObject({ code: "stopped" });
});

test("requests after the stop are refused, and those under way end", async () => {
  const parser = startParseThread(url);
  const underWay = parser.parseYaml(lines(50_000, (index) => `k${index}: 1`));
  const outcome = expect(underWay).rejects.toMatchObject({ code: "stopped" });
  await new Promise((resolve) => setImmediate(resolve));
  await parser.stop();
  await outcome;
  await expect(parser.parseYaml("a: 1")).rejects.toMatchObject({ code: "stopped" });
});
