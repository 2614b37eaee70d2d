import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeEach, expect, test } from "vitest";
import { needs } from "../support/needs.ts";
import { expectPromtoolAccepts, parseStrictly } from "../support/status/document.ts";
import { startScrape } from "../support/status/scrape.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("promtool"));

const ENVOY = '# TYPE envoy_up gauge\nenvoy_up{a="b"} 1\n';
const FAILURES = 'istio_agent_scrape_failures_total{type="application"}';
const MEGABYTE = 1e6;

/** Writes until the reader leaves. */
async function pour(
  response: ServerResponse,
  next: () => string | Buffer,
  limitBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  let sent = 0;
  while (!response.destroyed && sent < limitBytes) {
    const chunk = next();
    sent += chunk.length;
    if (!response.write(chunk)) await roomIn(response);
  }
  response.end();
}

function roomIn(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

function family(index: number): string {
  let text = `# HELP pour_${index}_total Poured.\n# TYPE pour_${index}_total counter\n`;
  for (let row = 0; row < 200; row++) text += `pour_${index}_total{row="${row}",path="/some/where"} ${row}\n`;
  return text;
}

test("an application whose metrics never end is cut at the time limit; the document is whole", async () => {
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [
      (_request, response) => {
        let index = 0;
        const feed = setInterval(() => response.write(family(index++)), 5);
        response.on("close", () => clearInterval(feed));
      },
    ],
  });
  const { text } = await t.scrape({ "x-prometheus-scrape-timeout-seconds": "2" });
  expect(text).toContain("envoy_up");
  expect(text).toContain("pour_0_total");
  expect(text.endsWith("\n")).toBe(true);
  await expectPromtoolAccepts(text);
  expect(t.own(FAILURES)).toBe("1");
});

test("an application that sends nothing but its head is left out at the time limit", async () => {
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [(_request, response) => void response.writeHead(200).flushHeaders(), "second 1\n"],
  });
  const { text } = await t.scrape({ "x-prometheus-scrape-timeout-seconds": "2" });
  const { series } = parseStrictly(text, "text");
  expect([...series.keys()].slice(-2)).toEqual(['envoy_up{a="b"}', "second"]);
  expect(t.own(FAILURES)).toBe("1");
});

test.each([
  { name: "never answers", hang: () => undefined },
  { name: "stops in the middle", hang: (response: ServerResponse) => void response.write(family(1).repeat(1)) },
  {
    name: "stops in the middle of much",
    hang: (response: ServerResponse) => {
      for (let index = 500; index < 600; index++) response.write(family(index));
    },
  },
])("an Envoy that $name does not take the application's time", async ({ hang }) => {
  const large = (_request: unknown, response: ServerResponse) => {
    let index = 0;
    void pour(response, () => family(index++), 100 * family(10).length);
  };
  await using t = await startScrape({ envoy: (_request, response) => hang(response), applications: [large] });
  const { text } = await t.scrape({ "x-prometheus-scrape-timeout-seconds": "6" });
  await expectPromtoolAccepts(text);
  for (const index of [0, 50, 99]) expect(text).toContain(`pour_${index}_total{row="199"`);
  expect(t.own(FAILURES)).toBeUndefined();
  expect(t.own('istio_agent_scrape_failures_total{type="envoy"}')).toBe("1");
});

test.each([
  { name: "binary", body: Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256)) },
  { name: "a page", body: "<html>\n<body>\nhello 1\n</body></html>\n" },
  { name: "one long line", body: "x".repeat(3 * MEGABYTE) },
  { name: "not UTF-8", body: Buffer.from('a{b="\xff\xfe"} 1\n# HELP c \xff\nc 1\n', "latin1") },
  { name: "cut in the middle", body: 'a{b="c' },
])("a body that is not metrics ($name) spoils nothing", async ({ body }) => {
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [(_request, response) => void response.end(body), "good 1\n"],
  });
  const { text } = await t.scrape();
  const { series } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect(series.get('envoy_up{a="b"}')).toBe("1");
  expect(series.get("good")).toBe("1");
});

test("lines that are not metrics are left out and counted, the others stay", async () => {
  const body =
    'a 1\nb{x="1} 2\nc{x="1"} two\n{x="1"} 3\nd 4 5 6\n# TYPE e nonsense\ne 5\n9f 1\nok{x="\\"\\\\\\n"} NaN\n';
  await using t = await startScrape({ applications: [body] });
  const { text } = await t.scrape();
  await expectPromtoolAccepts(text);
  expect([...parseStrictly(text, "text").series.keys()].slice(1)).toEqual(["a", "e", 'ok{x="\\"\\\\\\n"}']);
  expect(t.own('istio_agent_scrape_dropped_total{type="application",what="line"}')).toBe("5");
});

test("a claim of 100 GB is refused at once", async () => {
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [
      (_request, response) =>
        void response.writeHead(200, { "content-length": String(100 * 1024 ** 3) }).write("a 1\n"),
    ],
  });
  const { text } = await t.scrape();
  expect(parseStrictly(text, "text").series.has("a")).toBe(false);
  expect(t.log.texts().join()).toContain("response exceeds 268435456 bytes");
});

test("a packed body that unpacks to far more than it is stays bounded", async () => {
  const bomb = gzipSync(Buffer.alloc(50 * MEGABYTE, "a 1\n"));
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
      "good 1\n",
    ],
  });
  const { text } = await t.scrape();
  expect(text.length).toBeLessThan(11 * MEGABYTE);
  expect(text).toContain("good 1\n");
  expect(t.own(FAILURES)).toBe("1");
});

test("large bodies on both sides: families that come again are left out with a count, nothing else is lost", async () => {
  const body = (index: number) => family(index);
  const count = 150;
  const large = (from: number) => (_request: unknown, response: ServerResponse) => {
    let index = from;
    void pour(response, () => body(index++), count * family(10).length);
  };
  await using t = await startScrape({ envoy: large(0), applications: [large(100)] });
  const { text } = await t.scrape();
  await expectPromtoolAccepts(text);
  const names = [...text.matchAll(/^# TYPE (pour_\d+)_total/gm)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(240);
  expect(Number(t.own('istio_agent_scrape_dropped_total{type="application",what="family"}'))).toBeGreaterThan(40);
  expect(text.split("\n").filter((line) => line.startsWith("pour_")).length).toBe(names.length * 200);
});

test("a small application joins a large Envoy under one header, and its series win", async () => {
  const large = (_request: unknown, response: ServerResponse) => {
    let index = 0;
    void pour(response, () => family(index++), 100 * family(10).length);
  };
  const app =
    '# TYPE pour_50_total counter\npour_50_total{row="7",path="/some/where"} 999\npour_50_total{row="new"} 1\n';
  await using t = await startScrape({ envoy: large, applications: [app] });
  const { text } = await t.scrape();
  const { series } = parseStrictly(text, "text");
  expect(series.get('pour_50_total{row="7",path="/some/where"}')).toBe("999");
  expect(series.get('pour_50_total{row="new"}')).toBe("1");
  expect(series.get('pour_50_total{row="8",path="/some/where"}')).toBe("8");
  expect(t.own('istio_agent_scrape_dropped_total{type="envoy",what="series"}')).toBe("1");
});

test("an Envoy that dies during the scrape leaves whole lines and a failure", async () => {
  await using t = await startScrape({
    envoy: (_request, response) => {
      let index = 0;
      void pour(response, () => {
        if (index === 120) response.destroy();
        return family(index++);
      });
    },
    applications: ["good 1\n"],
  });
  const { text } = await t.scrape();
  const { series } = parseStrictly(text.replace(/\r/g, ""), "text");
  expect(series.get("good")).toBe("1");
  await expectPromtoolAccepts(text);
  expect(t.own('istio_agent_scrape_failures_total{type="envoy"}')).toBe("1");
});

test("1,000 scrapes at once are all answered", { timeout: 60_000 }, async () => {
  let atOnce = 0;
  let most = 0;
  // Counted until the answer leaves: a connection's end may be heard of only after the next one's beginning.
  const counted = (_request: unknown, response: ServerResponse) => {
    most = Math.max(most, ++atOnce);
    setTimeout(() => {
      atOnce--;
      response.end(family(1));
    }, 1);
  };
  await using t = await startScrape({ envoy: ENVOY, applications: [counted] });
  const answers = await Promise.all(Array.from({ length: 1000 }, () => t.scrape()));
  for (const { status, text } of answers) {
    expect(status).toBe(200);
    expect(text).toContain('pour_1_total{row="199",path="/some/where"} 199\n');
  }
  expect(most).toBeLessThanOrEqual(8);
  expect(t.own("istio_agent_scrapes_total")).toBe("1000");
});

/** Eight are served by an application that waits for its release, the others stand in line. */
async function startLine(headers = "") {
  const release: (() => void)[] = [];
  const t = await startScrape({
    applications: [(_request, response) => void release.push(() => response.end("a 1\n"))],
  });
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connect(t.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(`GET /metrics HTTP/1.1\r\nHost: h\r\n${headers}\r\n`);
    return socket;
  });
  await expect.poll(() => release.length).toBe(8);
  return { ...t, release, sockets };
}

test("scrapers that wait in line and are reset make room; the next one is served", async () => {
  await using t = await startLine();
  for (const socket of t.sockets) socket.resetAndDestroy();
  let text: string | undefined;
  void t.scrape().then((answer) => {
    text = answer.text;
  });
  // None of the first eight is answered. Those behind them may get their turn before their own reset arrives.
  await until("the last scrape is answered", () => {
    for (const answer of t.release.slice(8)) answer();
    return text !== undefined;
  });
  expect(text).toContain("a 1\n");
  expect(t.own(FAILURES)).toBeUndefined();
});

test("scrapers that close hold their place no longer than their time limit: they may still read", async () => {
  await using t = await startLine("X-Prometheus-Scrape-Timeout-Seconds: 0.5\r\n");
  for (const socket of t.sockets) socket.destroy();
  const last = t.scrape();
  await expect.poll(() => t.release.length).toBe(31);
  t.release.at(-1)?.();
  expect((await last).text).toContain("a 1\n");
});

test("a slow scraper holds back the sources instead of filling memory", async () => {
  let sent = 0;
  await using t = await startScrape({
    envoy: (_request, response) => {
      let index = 0;
      void pour(
        response,
        () => {
          const text = family(index++);
          sent += text.length;
          return text;
        },
        200 * MEGABYTE,
      );
    },
  });
  const socket = connect(t.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
  // No one reads: what the kernel's buffers and ours take is all that may come.
  let last = -1;
  await expect
    .poll(
      () => {
        const isStill = sent > 0 && sent === last;
        last = sent;
        return isStill;
      },
      { interval: 300 },
    )
    .toBe(true);
  expect(sent).toBeLessThan(30 * MEGABYTE);
  socket.destroy();
});
