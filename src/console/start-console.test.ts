import { setMaxListeners } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openConsole } from "../../test/support/console/console-client.ts";
import {
  fileObject,
  HOST,
  type ScriptedSources,
  scriptedSources,
} from "../../test/support/console/scripted-sources.ts";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { until } from "../../test/support/wait/until.ts";
import { silentLogger } from "../base/logger.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { createActionFile, createMemoryBook } from "./action-file.ts";
import type { GraphEdge, GraphSnapshot, LogLines, RequestBatch } from "./api.ts";
import type { Console, ConsoleOptions } from "./options.ts";
import { startConsole } from "./start-console.ts";

const INTERVAL_MS = 40;
const page = temporaryFolder({ files: { "index.html": "<!doctype html><title>console</title>", "main.js": "1" } });
const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function start(sources: ScriptedSources, options: Partial<ConsoleOptions> = {}): Promise<Console> {
  const console = await startConsole({
    listen: { host: "127.0.0.1", port: 0 },
    takesNextPort: false,
    pageFolder: page.path,
    sources,
    book: createMemoryBook(),
    intervalMs: INTERVAL_MS,
    log: silentLogger,
    ...options,
  });
  opened.push(() => console.stop());
  return console;
}

function untilTestEnds(): AbortSignal {
  const ending = new AbortController();
  opened.push(() => ending.abort());
  setMaxListeners(0, ending.signal);
  return ending.signal;
}

/** Requests of `front` to both versions, a few every time somebody looks. */
function flowing(sources: ScriptedSources, errorsTo: Record<string, number> = {}): () => void {
  const counters = { v1: { completed: 0, errors: 0, connections: 1 }, v2: { completed: 0, errors: 0, connections: 1 } };
  sources.traffic.front = { [`outbound|9080|v1|${HOST}`]: counters.v1, [`outbound|9080|v2|${HOST}`]: counters.v2 };
  const timer = setInterval(() => {
    for (const [version, of] of Object.entries(counters)) {
      of.completed += 10;
      of.errors += errorsTo[version] ?? 0;
    }
  }, INTERVAL_MS / 2);
  opened.push(() => clearInterval(timer));
  return () => clearInterval(timer);
}

const RULE = {
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "reviews", namespace: "shop" },
  spec: { hosts: [HOST], http: [{ route: [{ destination: { host: HOST, subset: "v1" }, weight: 100 }] }] },
};
const SUBSETS = {
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: "reviews", namespace: "shop" },
  spec: { host: HOST, subsets: ["v1", "v2"].map((name) => ({ name, labels: { version: name } })) },
};

function withRules(sources: ScriptedSources): ScriptedSources {
  for (const document of [RULE, SUBSETS]) sources.files.set(...fileObject(document));
  return sources;
}

interface Spec {
  readonly http: readonly {
    readonly route: readonly { readonly weight: number; readonly destination: { readonly subset: string } }[];
  }[];
}

function specOf({ applied, files }: ScriptedSources): Spec {
  const key = "VirtualService/shop/reviews";
  return (applied.get(key) ?? files.get(key))?.document.spec as Spec;
}

function routeOf(sources: ScriptedSources): unknown {
  const { route = [] } = specOf(sources).http.at(-1) ?? {};
  return Object.fromEntries(route.map(({ destination, weight }) => [destination.subset, weight]));
}

test("the link's token becomes a cookie that only this console's page sends, and leaves the address", async () => {
  const { link, url } = await start(scriptedSources());
  const answer = await httpRequest({ url: link });
  expect(answer.status).toBe(303);
  expect(answer.headers.location).toBe("/");
  expect(answer.headers["set-cookie"]?.[0]).toMatch(
    /^pilot-agent-console-\d+=[\w-]+; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  expect(answer.headers["set-cookie"]?.[0]).not.toContain(new URL(link).searchParams.get("token"));
  const shown = await httpRequest({ url });
  expect(shown.body).toContain("<title>console</title>");
  expect(shown.headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
});

test.each([
  { what: "a wrong token", path: "/?token=wrong", headers: {}, status: 403, says: "the token is not the one" },
  { what: "no cookie", path: "/api/session", headers: { cookie: "" }, status: 401, says: "open the link" },
  {
    what: "a foreign cookie",
    path: "/api/session",
    headers: { cookie: "pilot-agent-console-1=x" },
    status: 401,
    says: "open the link",
  },
  {
    what: "a foreign Host",
    path: "/api/session",
    headers: { host: "rebound.example:15700" },
    status: 403,
    says: "Host is",
  },
  {
    what: "a foreign Host for the page itself",
    path: "/",
    headers: { host: "rebound.example" },
    status: 403,
    says: "Host is",
  },
  {
    what: "a foreign Origin",
    path: "/api/session",
    headers: { origin: "http://evil.example" },
    status: 403,
    says: "Origin is",
  },
  {
    what: "a page that embeds it",
    path: "/api/session",
    headers: { "sec-fetch-site": "cross-site" },
    status: 403,
    says: "Sec-Fetch-Site",
  },
  {
    what: "an image of another page",
    path: "/",
    headers: { "sec-fetch-site": "cross-site", "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" },
    status: 403,
    says: "Sec-Fetch-Site",
  },
])("$what is refused with $status", async ({ path, headers, status, says }) => {
  const { link } = await start(scriptedSources());
  const client = await openConsole(link);
  const answer = await client.get(path, headers as unknown as Record<string, string>);
  expect(answer.status).toBe(status);
  expect(answer.body.error).toContain(says);
});

test("a link on another page leads to the console: it is the page that is public, not what it asks for", async () => {
  const { link } = await start(scriptedSources());
  const client = await openConsole(link);
  const clicked = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect((await client.get("/", clicked)).status).toBe(200);
  expect((await client.get("/api/session", clicked)).status).toBe(403);
});

test("forms of other pages change nothing: a body has to be declared as JSON and stay within a mebibyte", async () => {
  const sources = withRules(scriptedSources());
  const client = await openConsole((await start(sources)).link);
  const action = { action: { kind: "kill-envoy", workload: "front" } };
  expect((await client.post("/api/actions", action, { "content-type": "text/plain" })).status).toBe(415);
  expect((await client.post("/api/objects", { yaml: "x".repeat(1024 * 1024) })).status).toBe(413);
  expect((await client.post("/api/actions", [])).body.error).toBe("the body is not a JSON object");
  expect(sources.done).toEqual([]);
});

test("files outside the page's folder are not there, whatever the path says", async () => {
  const { url } = await start(scriptedSources());
  for (const path of ["/../package.json", "/%2e%2e/package.json", "/..%2fpackage.json", "/nothing.js"]) {
    const { status } = await httpRequest({ url, target: path });
    expect(status).toBe(404);
  }
});

test("a taken port is followed by the next free one, unless somebody chose it", async () => {
  const first = await start(scriptedSources());
  const port = Number(new URL(first.url).port);
  const second = await start(scriptedSources(), { listen: { host: "127.0.0.1", port }, takesNextPort: true });
  expect(Number(new URL(second.url).port)).toBeGreaterThan(port);
  await expect(start(scriptedSources(), { listen: { host: "127.0.0.1", port } })).rejects.toMatchObject({
    code: "address-in-use",
  });
});

test("agents are asked while a page is open and not before or after", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  expect(sources.asked).toBe(0);
  const looking = new AbortController();
  const events = await client.follow("/api/events", looking.signal);
  await until("three graphs came", () => events.filter(({ event }) => event === "graph").length >= 3);
  looking.abort();
  await until("nobody asks any more", async () => {
    const before = sources.asked;
    await new Promise((resolve) => setTimeout(resolve, 3 * INTERVAL_MS));
    return sources.asked === before;
  });
});

test("a workload that calls nobody is asked in every third round, unless something is wrong with it", async () => {
  const sources = scriptedSources();
  flowing(sources);
  const client = await openConsole((await start(sources)).link);
  await client.follow("/api/events", untilTestEnds());
  const times = (id: string) => sources.askedBy.get(id) ?? 0;
  await until("the caller was asked often", () => times("front") >= 15);
  expect(times("reviews-v1")).toBeLessThanOrEqual(times("front") / 2);
  sources.agents.set("reviews-v1", async () => {
    throw new Error("its agent is starting");
  });
  const failing = times("reviews-v1");
  await until("the first question failed", () => times("reviews-v1") > failing);
  const [caller, leaf] = [times("front"), times("reviews-v1")];
  await until("some rounds later", () => times("front") >= caller + 9);
  expect(times("reviews-v1") - leaf).toBeGreaterThanOrEqual(7);
});

test("a graph has rates, errors and mutual TLS of the caller's Envoy between the right nodes", async () => {
  const sources = withRules(scriptedSources());
  flowing(sources, { v2: 5 });
  Object.assign(sources.traffic.front?.[`outbound|9080|v1|${HOST}`] ?? {}, { connections: 4, handshakes: 3 });
  const client = await openConsole((await start(sources)).link);
  const events = await client.follow("/api/events", untilTestEnds());
  const edge = (version: string): GraphEdge | undefined => {
    const graph: GraphSnapshot | undefined = events.findLast(({ event }) => event === "graph")?.data;
    return graph?.edges.find(({ to }) => to === `version:${HOST}|${version}`);
  };
  await until("both versions are called", () => (edge("v1")?.rps ?? 0) > 0 && (edge("v2")?.rps ?? 0) > 0);
  expect(edge("v1")).toMatchObject({
    from: "service:front.shop.svc.cluster.local",
    errorShare: 0,
    mtlsShare: 0.75,
    weight: 100,
  });
  expect(edge("v2")?.errorShare).toBe(0.5);
});

test("an agent that hangs is shown as stale and keeps nobody else waiting", async () => {
  const sources = scriptedSources();
  flowing(sources);
  sources.agents.set("reviews-v2", () => new Promise<never>(() => undefined));
  sources.agents.set("reviews-v1", async () => {
    throw new Error("its agent is starting");
  });
  const client = await openConsole((await start(sources)).link);
  const events = await client.follow("/api/events", untilTestEnds());
  const graphs = (): GraphSnapshot[] => events.filter(({ event }) => event === "graph").map(({ data }) => data);
  await until("three graphs came", () => graphs().length >= 3);
  expect(graphs().at(-1)?.stale).toEqual([
    { workload: "reviews-v1", reason: "its agent is starting" },
    { workload: "reviews-v2", reason: "its agent has not answered yet" },
  ]);
  await until("edges are there", () => (graphs().at(-1)?.edges.length ?? 0) > 0);
});

test("without a control plane the page says so and figures go on", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  const events = await client.follow("/api/events", untilTestEnds());
  await until("the state is known", () => events.some(({ event }) => event === "state"));
  sources.control = { phase: "away", reason: "connection refused" };
  const states = () => events.filter(({ event }) => event === "state").map(({ data }) => data.controlPlane.phase);
  await until("it is said", () => states().includes("away"));
  const graphs = events.filter(({ event }) => event === "graph").length;
  await until("figures go on", () => events.filter(({ event }) => event === "graph").length > graphs + 2);
  const { marks } = (await client.get("/api/history")).body;
  expect(marks).toMatchObject([{ kind: "control-plane", text: "The control plane is away: connection refused" }]);
});

test("fifty pages get every state from one round of questions", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  const signal = untilTestEnds();
  const pages = await Promise.all(Array.from({ length: 50 }, () => client.follow("/api/events", signal)));
  await until("all have two graphs", () =>
    pages.every((events) => events.filter(({ event }) => event === "graph").length >= 2),
  );
  const rounds = Math.max(...pages.map((events) => events.filter(({ event }) => event === "graph").length));
  expect(sources.asked).toBeLessThanOrEqual(3 * (rounds + 3));
});

test("a reader that does not read holds up nobody and gets the newest state when it reads again", async () => {
  const sources = scriptedSources();
  // Large enough to fill what the kernel buffers within a moment.
  const reasons = Array.from({ length: 2000 }, (_, at) => `reason ${at} ${"x".repeat(200)}`);
  sources.problems = () => reasons;
  let count = 0;
  sources.controlPlane = async () => {
    count += 1;
    return { phase: "away", reason: `round ${count}` };
  };
  const { link, url } = await start(sources);
  const client = await openConsole(link);
  const slow = connect(Number(new URL(url).port), "127.0.0.1");
  opened.push(() => slow.destroy());
  slow.pause();
  slow.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${client.cookie}\r\n\r\n`);
  const events = await client.follow("/api/events", untilTestEnds());
  await until("the other reader has thirty states", () => events.filter(({ event }) => event === "state").length >= 30);
  let received = "";
  slow.on("data", (bytes) => {
    received += String(bytes);
  });
  const newest = count;
  slow.resume();
  const seen = () => [...received.matchAll(/"reason":"round (\d+)"/g)].map(([, round]) => Number(round));
  await until("it has caught up", () => (seen().at(-1) ?? 0) >= newest);
  const shown = new Set(seen().filter((round) => round <= newest));
  expect(shown.size).toBeLessThan(newest);
});

test("a log begins with its last lines, and has parts that are named", async () => {
  const client = await openConsole((await start(scriptedSources())).link);
  const events = await client.follow("/api/workloads/front/logs?part=app&tail=3", untilTestEnds());
  await until("lines came", () => events.length > 0);
  expect(events[0]).toEqual({
    event: "lines",
    data: { lines: ["front/app line 0", "front/app line 1", "front/app line 2"], dropped: 0 },
  });
  expect((await client.get("/api/workloads/front/logs?part=kernel")).body.error).toBe(
    'part is "kernel", allowed are app and agent',
  );
});

test("a slow reader of a log loses lines and is told how many; one that reads loses none", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  const path = "/api/workloads/front/logs?part=app&tail=0";
  const readSlow = await client.followLater(path, untilTestEnds());
  const fast: { data: LogLines }[] = await client.follow(path, untilTestEnds());
  const numbers = (events: readonly { data: LogLines }[]) =>
    events.flatMap(({ data }) => data.lines.map((line) => Number.parseInt(line, 10)));
  const dropped = (events: readonly { data: LogLines }[]) => events.reduce((sum, { data }) => sum + data.dropped, 0);
  // Four mebibytes at a time: what the kernel holds for a reader is full first, then what may wait for it.
  const [rounds, perRound, filler] = [10, 1000, "x".repeat(4096)];
  const written = Array.from({ length: rounds * perRound }, (_, at) => at);
  for (let round = 1; round <= rounds; round += 1) {
    const lines = written.slice((round - 1) * perRound, round * perRound).map((at) => `${at} ${filler}`);
    sources.writeLog("front", "app", lines);
    await until("the other reader has them", () => numbers(fast).length === round * perRound);
  }
  expect(dropped(fast)).toBe(0);
  const slow: { data: LogLines }[] = readSlow();
  await until("all are read or counted", () => numbers(slow).length + dropped(slow) === written.length);
  expect(dropped(slow)).toBeGreaterThan(0);
  expect(numbers(slow).slice(0, perRound)).toEqual(written.slice(0, perRound));
  expect(Math.max(...slow.map(({ data }) => data.lines.length))).toBe(2000);
});

const requestOf = (id: number, cluster: string, path = "/") =>
  `[2026-11-17T19:10:29.960Z] "GET ${path} HTTP/1.1" 200 - via_upstream - "-" 0 121 92 - "-" "curl/8" "${id}" "reviews:9080" "10.0.0.1:9080" ${cluster} 10.0.0.2:1 10.0.0.3:2 10.0.0.4:3 - default`;

test("requests beyond fifty a second, and those that a slow reader has no room for, are counted and not shown", async () => {
  const sources = scriptedSources();
  let time = 1_000_000;
  const client = await openConsole((await start(sources, { now: () => time })).link);
  const readSlow = await client.followLater("/api/requests?workload=front&direction=inbound", untilTestEnds());
  const path = "/api/requests?workload=front&direction=outbound";
  const fast: { data: RequestBatch }[] = await client.follow(path, untilTestEnds());
  const shown = (events: readonly { data: RequestBatch }[]) => events.flatMap(({ data }) => data.requests);
  const skipped = (events: readonly { data: RequestBatch }[]) =>
    events.reduce((sum, { data }) => sum + data.skipped, 0);
  const [perSecond, filling, seconds, long] = [60, 4, 30, `/${"x".repeat(60_000)}`];
  for (let second = 0; second < seconds; second += 1) {
    time += 1000;
    // Long ones until the kernel holds no more for the slow reader, then as many as may wait for it, and more.
    const lines = Array.from({ length: perSecond }, (_, at) =>
      requestOf(second * perSecond + at, "inbound|9080||", second < filling ? long : "/"),
    );
    sources.writeLog("front", "agent", [...lines, requestOf(second, `outbound|9080||${HOST}`)]);
    if (second < filling) await until("the other reader has its one", () => shown(fast).length === second + 1);
  }
  await until("the other reader has all of its own", () => shown(fast).length === seconds);
  expect(skipped(fast)).toBe(0);
  const slow: { data: RequestBatch }[] = readSlow();
  await until("all are read or counted", () => shown(slow).length + skipped(slow) === seconds * perSecond);
  // Ten of sixty in each second are too many; the others are lost to the reader's slowness alone.
  expect(skipped(slow)).toBeGreaterThan(seconds * 10);
  expect(Math.max(...slow.map(({ data }) => data.requests.length))).toBe(500);
});

test("access logs are read while somebody looks at requests, of what is looked at alone, and not before or after", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  const page = await client.follow("/api/events", untilTestEnds());
  await until("the page has a graph", () => page.some(({ event }) => event === "graph"));
  expect(sources.following()).toEqual([]);
  const looking = new AbortController();
  await client.follow("/api/requests?workload=front", looking.signal);
  await until("it is read", () => sources.following().join() === "front/agent");
  looking.abort();
  // That a reader has gone shows when something is sent to it.
  await until("it is not", () => {
    sources.writeLog("front", "agent", [requestOf(1, `outbound|9080||${HOST}`)]);
    return sources.following().length === 0;
  });
});

test("an action writes what its preview shows, and undo brings back what was", async () => {
  const sources = withRules(scriptedSources());
  const client = await openConsole((await start(sources)).link);
  const request = { action: { kind: "shift", service: "reviews", weights: { v1: 80, v2: 20 } } };
  const preview = (await client.post("/api/actions/preview", request)).body;
  expect(preview).toMatchObject({
    text: "Sends requests for reviews: 80% to v1, 20% to v2",
    canUndo: true,
    problems: [],
  });
  expect(preview.changes).toHaveLength(1);
  expect(preview.changes[0].before).toContain("weight: 100");
  expect(sources.applied.size).toBe(0);
  const applied = await client.post("/api/actions", request);
  expect(applied.status).toBe(201);
  expect(applied.body.changes).toEqual(preview.changes);
  expect(routeOf(sources)).toEqual({ v1: 80, v2: 20 });
  const undone = await client.post(`/api/actions/${applied.body.id}/undo`, {});
  expect(undone.body).toMatchObject({ state: "undone", canUndo: false });
  expect(routeOf(sources)).toEqual({ v1: 100 });
  expect(sources.applied.size).toBe(0);
  expect((await client.post(`/api/actions/${applied.body.id}/undo`, {})).status).toBe(409);
});

test("actions on one object are undone in any order, and what was applied before them comes back", async () => {
  const sources = withRules(scriptedSources());
  const own = { ...RULE, spec: { ...RULE.spec, http: [{ ...RULE.spec.http[0], timeout: "9s" }] } };
  await sources.objects?.put({ kind: "VirtualService", namespace: "shop", name: "reviews", document: own });
  const client = await openConsole((await start(sources)).link);
  const apply = async (action: object) => (await client.post("/api/actions", { action })).body.id as string;
  const shift = await apply({ kind: "shift", service: "reviews", weights: { v2: 100 } });
  const delay = await apply({ kind: "delay", service: "reviews", delayMs: 1500, percent: 50 });
  await client.post(`/api/actions/${shift}/undo`, {});
  expect(sources.applied.get("VirtualService/shop/reviews")?.document).toHaveProperty("spec.http");
  expect(specOf(sources).http).toMatchObject([
    {
      timeout: "9s",
      fault: { delay: { fixedDelay: "1.5s", percentage: { value: 50 } } },
      route: [{ weight: 100, destination: { subset: "v1" } }],
    },
  ]);
  await client.post(`/api/actions/${delay}/undo`, {});
  expect(sources.applied.get("VirtualService/shop/reviews")?.document).toEqual(own);
});

test("an action that expires is undone by itself, also by the console that is there after a restart", async () => {
  using folder = temporaryFolder();
  const sources = withRules(scriptedSources());
  let time = 1_000_000;
  const options = { book: createActionFile(folder.file("actions.json")), now: () => time };
  const first = await start(sources, options);
  const client = await openConsole(first.link);
  const request = { action: { kind: "shift", service: "reviews", weights: { v2: 100 } }, expiresInMs: 600_000 };
  const { body } = await client.post("/api/actions", request);
  expect(body.expiresAt).toBe(1_600_000);
  await first.stop();
  expect(routeOf(sources)).toEqual({ v2: 100 });
  time += 600_001;
  const again = await openConsole((await start(sources, options)).link);
  await until("it is taken back", () => sources.applied.size === 0);
  await until("it is recorded", async () => (await again.get("/api/actions")).body.actions[0]?.state === "expired");
  expect(routeOf(sources)).toEqual({ v1: 100 });
});

test("what somebody else has written meanwhile is theirs: the action ends without touching it", async () => {
  const sources = withRules(scriptedSources());
  const client = await openConsole((await start(sources)).link);
  const { body } = await client.post("/api/actions", {
    action: { kind: "shift", service: "reviews", weights: { v2: 100 } },
  });
  const theirs = { ...RULE, spec: { ...RULE.spec, http: [{ route: [{ destination: { host: HOST } }] }] } };
  await sources.objects?.put({ kind: "VirtualService", namespace: "shop", name: "reviews", document: theirs });
  const undone = await client.post(`/api/actions/${body.id}/undo`, {});
  expect(undone.body).toMatchObject({ state: "superseded", reason: "its objects were changed by somebody else" });
  expect(sources.applied.get("VirtualService/shop/reviews")?.document).toEqual(theirs);
});

test("a ramp that meets errors returns to what was, and no page has to be open for it", async () => {
  const sources = withRules(scriptedSources());
  flowing(sources, { v2: 4 });
  const client = await openConsole((await start(sources)).link);
  const action = { kind: "ramp", service: "reviews", to: "v2", steps: [10, 50], stepMs: 60_000 };
  const { body } = await client.post("/api/actions", { action });
  expect(routeOf(sources)).toEqual({ v1: 90, v2: 10 });
  const state = async () =>
    (await client.get("/api/actions")).body.actions.find(({ id }: { id: string }) => id === body.id);
  await until("it has returned", async () => (await state()).state === "returned");
  expect((await state()).reason).toMatch(/^40\.0% of \d+ requests to v2 failed at 10%, allowed are 5%$/);
  expect(routeOf(sources)).toEqual({ v1: 100 });
});

test("a ramp without errors goes from step to step and stays at the last", async () => {
  const sources = withRules(scriptedSources());
  flowing(sources);
  const client = await openConsole((await start(sources)).link);
  const action = { kind: "ramp", service: "reviews", to: "v2", steps: [30, 100], stepMs: 1000 };
  const { body } = await client.post("/api/actions", { action });
  const state = async () =>
    (await client.get("/api/actions")).body.actions.find(({ id }: { id: string }) => id === body.id);
  await until("all steps are done", async () => (await state()).ramp.step === 2);
  expect(routeOf(sources)).toEqual({ v2: 100 });
  expect(await state()).toMatchObject({ state: "active", canUndo: true });
  await client.post(`/api/actions/${body.id}/undo`, {});
  expect(routeOf(sources)).toEqual({ v1: 100 });
});

test("processes are killed, stopped and started, and a stop is undone by a start", async () => {
  const sources = scriptedSources();
  const client = await openConsole((await start(sources)).link);
  const killed = await client.post("/api/actions", { action: { kind: "kill-envoy", workload: "front" } });
  expect(killed.body).toMatchObject({ state: "done", canUndo: false });
  const stopped = await client.post("/api/actions", { action: { kind: "stop-control-plane" } });
  await client.post(`/api/actions/${stopped.body.id}/undo`, {});
  expect(sources.done).toEqual(["kill front", "stop", "start"]);
  const unknown = await client.post("/api/actions", { action: { kind: "kill-envoy", workload: "nobody" } });
  expect(unknown).toMatchObject({
    status: 400,
    body: { error: 'there is no workload "nobody"; there are front, reviews-v1, reviews-v2' },
  });
});

test("objects are listed and read, refused beside the line of the mistake, applied and deleted", async () => {
  const sources = withRules(scriptedSources());
  const client = await openConsole((await start(sources)).link);
  const { objects } = (await client.get("/api/objects")).body;
  expect(objects).toMatchObject([
    { kind: "VirtualService", origin: "file", editable: true, overrides: false },
    { kind: "DestinationRule" },
  ]);
  const { yaml } = (await client.get("/api/objects/VirtualService/shop/reviews")).body;
  const wrong = yaml.replace("weight: 100", "weight: many");
  const line = wrong.split("\n").findIndex((each: string) => each.includes("many")) + 1;
  const validated = (await client.post("/api/objects/validate", { yaml: wrong })).body;
  expect(validated.problems).toMatchObject([{ severity: "error", line, field: "spec.http[0].route[0].weight" }]);
  const refused = await client.post("/api/objects", { yaml: wrong });
  expect(refused).toMatchObject({ status: 422, body: { problems: [{ line }] } });
  expect(sources.applied.size).toBe(0);
  const applied = await client.post("/api/objects", { yaml: yaml.replace("subset: v1", "subset: v2") });
  expect(applied.body.changes[0].before).toContain("subset: v1");
  expect(routeOf(sources)).toEqual({ v2: 100 });
  const deleted = await client.delete("/api/objects/VirtualService/shop/reviews");
  expect(deleted.body.changes[0].after).toContain("subset: v1");
  expect((await client.delete("/api/objects/VirtualService/shop/reviews")).body.error).toBe(
    "VirtualService/shop/reviews comes from a file: delete it there",
  );
  const secret = { yaml: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" };
  expect((await client.post("/api/objects/validate", secret)).body.problems).toContainEqual(
    expect.objectContaining({ severity: "error", line: 1, message: "kind Secret is not one that the console edits" }),
  );
});

test("what analyze finds stands among the problems of its object, at its file and line, and refuses nothing", async () => {
  const sources = withRules(scriptedSources());
  const finding = { namespace: "shop", name: "reviews", code: "IST0101", message: "Referenced subset not found: v9" };
  const position = { file: "rules.yaml", line: 7 };
  sources.findings = [{ ...finding, kind: "VirtualService", severity: "error", position }];
  const client = await openConsole((await start(sources)).link);
  const problem = { severity: "error", code: "IST0101", message: finding.message };
  const { objects } = (await client.get("/api/objects")).body;
  expect(objects).toMatchObject([
    { kind: "VirtualService", problems: [{ ...problem, source: position }] },
    { kind: "DestinationRule", problems: [] },
  ]);
  const { yaml, problems } = (await client.get("/api/objects/VirtualService/shop/reviews")).body;
  expect(problems).toEqual(objects[0].problems);
  // An empty file: the text that was sent.
  sources.findings = [{ ...finding, kind: "VirtualService", severity: "error", position: { file: "", line: 3 } }];
  const applied = await client.post("/api/objects", { yaml });
  expect(applied).toMatchObject({ status: 200, body: { problems: [{ ...problem, line: 3 }] } });
});

test("schemas of all kinds are there for completion", async () => {
  const client = await openConsole((await start(scriptedSources())).link);
  const { kinds } = (await client.get("/api/schemas")).body;
  expect(kinds).toContainEqual(
    expect.objectContaining({ kind: "VirtualService", apiVersion: "networking.istio.io/v1" }),
  );
  const { schema } = (await client.get("/api/schemas/VirtualService")).body;
  expect(schema.properties.spec.properties.http.items.properties.timeout).toMatchObject({ type: "string" });
  expect((await client.get("/api/schemas/Nothing")).status).toBe(404);
});

test("the last errors of the CA are shown with their times: the one that lasts, and those that are over", async () => {
  const sources = scriptedSources();
  const [since, at, before] = [Date.now() - 60_000, Date.now() - 5000, Date.now() - 3_600_000];
  const time = (ms: number) => new Date(ms).toISOString();
  const failures = [
    { message: "CA is down", at: time(at), since: time(since), count: 12 },
    { message: "token expired", at: time(before), since: time(before), count: 1 },
  ];
  const own = { resource: "default", certificates: [], lastFailure: "CA is down", failures };
  sources.pages.set("/certificates", { certificates: [own], problem: "CA is down" });
  const client = await openConsole((await start(sources)).link);
  const errors = async () => (await client.get("/api/workloads/front")).body.certificates.errors;
  expect(await errors()).toEqual([
    { message: "CA is down", at, sinceAt: since, count: 12, isCurrent: true },
    { message: "token expired", at: before, sinceAt: before, count: 1, isCurrent: false },
  ]);
  sources.pages.set("/certificates", { certificates: [{ ...own, lastFailure: undefined }] });
  expect((await errors()).map(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).toEqual([false, false]);
  sources.pages.set("/certificates", { certificates: [], problem: "no file /etc/certs/cert-chain.pem" });
  expect(await errors()).toMatchObject([{ message: "no file /etc/certs/cert-chain.pem", isCurrent: true }]);
});

test("Envoy's log level is changed, and only to levels that it has", async () => {
  const client = await openConsole((await start(scriptedSources())).link);
  const changed = await client.post("/api/workloads/front/log-levels", { logger: "upstream", level: "debug" });
  expect(changed.body).toMatchObject({ levels: { upstream: "debug" } });
  expect((await client.post("/api/workloads/front/log-levels", { level: "loud" })).body.error).toMatch(
    /^level is "loud", allowed are trace/,
  );
  const injected = await client.post("/api/workloads/front/log-levels", { logger: "a&quitquitquit", level: "debug" });
  expect(injected.status).toBe(400);
});
