import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type {
  ActionList,
  ConsoleEvents,
  GraphHistory,
  GraphSnapshot,
  MeshState,
  ObjectDetail,
  Problem,
  RequestLine,
  Session,
  WorkloadDetail,
} from "../../../src/console/api.ts";
import { startHttpServer } from "../net/http-server.ts";
import { buildPage } from "./built-page.ts";
import { type Answer, answerToAction } from "./scripted-actions.ts";

/** What the server says; the test changes it while the page is open. */
export interface ConsoleScript {
  session: Session;
  graph: GraphSnapshot;
  state: MeshState;
  actions: ActionList;
  history: GraphHistory;
  workloads: Readonly<Record<string, WorkloadDetail>>;
  objects: readonly ObjectDetail[];
  requests: readonly RequestLine[];
  logs: readonly string[];
  /** Every action is refused with these words. */
  refusal?: string;
  /** What validation says of a text. */
  problemsOf(yaml: string): readonly Problem[];
}

export interface ScriptedConsole extends AsyncDisposable {
  readonly url: string;
  readonly script: ConsoleScript;
  /** Bodies of what the page posted, by path. */
  readonly posted: readonly { readonly path: string; readonly body: Record<string, unknown> }[];
  /** Sends a topic as it is in the script now to every open page. */
  send(topic: keyof ConsoleEvents): void;
  /** Ends every stream; while cut, the server answers nothing. */
  cut(isCut: boolean): void;
  /** Every path of the API answers 401. */
  refuse(isRefused: boolean): void;
}

/** The policy that the console's own server sends. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  "/": "text/html; charset=utf-8",
  "/console.js": "text/javascript; charset=utf-8",
  "/style.css": "text/css; charset=utf-8",
  "/icon.svg": "image/svg+xml",
};

/** A console server that speaks the contract and does what the test says. It knows no mesh. */
export async function startScriptedConsole(script: ConsoleScript): Promise<ScriptedConsole> {
  const folder = await buildPage();
  const streams = new Set<ServerResponse>();
  const posted: { path: string; body: Record<string, unknown> }[] = [];
  let [isCut, isRefused] = [false, false];
  const topics = (): ConsoleEvents => ({
    graph: script.graph,
    state: script.state,
    actions: script.actions,
    objects: { revision: `${script.objects.length}` },
  });
  const write = (stream: ServerResponse, event: string, data: unknown) =>
    stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const openStream = (answer: ServerResponse) => {
    answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    answer.flushHeaders();
  };

  const server = await startHttpServer(async (request, answer) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (isCut) return void request.socket.destroy();
    const type = TYPES[url.pathname];
    if (type !== undefined) {
      const body = await readFile(join(folder, url.pathname === "/" ? "index.html" : url.pathname));
      answer.writeHead(200, { "content-type": type, "content-security-policy": POLICY });
      return void answer.end(body);
    }
    const json = (body: unknown, status = 200) => {
      answer.writeHead(status, { "content-type": "application/json" });
      answer.end(JSON.stringify(body));
    };
    if (isRefused) return json({ error: "the session is of another run" }, 401);
    const path = url.pathname.replace(/^\/api\//, "");
    if (path === "events") {
      openStream(answer);
      streams.add(answer);
      request.on("close", () => streams.delete(answer));
      for (const [topic, data] of Object.entries(topics())) write(answer, topic, data);
      return;
    }
    if (/^workloads\/.*\/logs$/.test(path) || path === "requests") {
      openStream(answer);
      if (path === "requests") write(answer, "requests", { requests: script.requests, skipped: 3 });
      else write(answer, "lines", { lines: script.logs, dropped: 0 });
      return;
    }
    const body = request.method === "POST" ? await readBody(request) : {};
    if (request.method === "POST") posted.push({ path, body });
    const found = answerTo(script, `${request.method} ${path}`, body);
    return found === undefined ? json({ error: `no ${path}` }, 404) : json(found.body, found.status);
  });
  return {
    url: `${server.url}/`,
    script,
    posted,
    send(topic) {
      for (const stream of streams) write(stream, topic, topics()[topic]);
    },
    cut(next) {
      isCut = next;
      if (isCut) for (const stream of streams) stream.destroy();
    },
    refuse(next) {
      isRefused = next;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

function answerTo(script: ConsoleScript, request: string, body: Record<string, unknown>): Answer | undefined {
  const [method = "", path = ""] = request.split(" ");
  const segments = path.split("/").map(decodeURIComponent);
  const [first, second, third, fourth] = segments;
  switch (first) {
    case "session":
      return { body: { ...script.session, now: Date.now() } };
    case "history":
      return { body: script.history };
    case "workloads":
      if (third === "log-levels")
        return {
          body: { levels: { http: "warning", upstream: body.level ?? "info" }, known: ["debug", "info", "warning"] },
        };
      return script.workloads[second ?? ""] && { body: script.workloads[second ?? ""] };
    case "actions":
      return answerToAction(script, segments, body);
    case "schemas":
      return {
        body:
          second === undefined ? { kinds: [{ kind: "VirtualService", apiVersion: "networking.istio.io/v1" }] } : SCHEMA,
      };
    case "objects": {
      if (second === "validate") return { body: { problems: script.problemsOf(String(body.yaml)), objects: [] } };
      if (second === undefined && method === "GET")
        return { body: { revision: "1", objects: script.objects.map(({ yaml: _, ...rest }) => rest), problems: [] } };
      if (second === undefined) {
        const problems = script.problemsOf(String(body.yaml));
        if (problems.length > 0) return { status: 422, body: { error: "1 problem: nothing was written", problems } };
        return { body: { changes: [], problems: [], revision: "2" } };
      }
      const object = script.objects.find(
        ({ kind, namespace, name }) => kind === second && namespace === third && name === fourth,
      );
      return object && { body: object };
    }
    default:
      return undefined;
  }
}

const SCHEMA = {
  kind: "VirtualService",
  apiVersion: "networking.istio.io/v1",
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          hosts: { type: "array", items: { type: "string" }, description: "Names that the rule is for." },
          http: { type: "array", items: { type: "object", properties: { timeout: { type: "string" } } } },
        },
      },
    },
  },
};
