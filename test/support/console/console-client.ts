import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { httpRequest, openHttp } from "../../../src/net/http-client/http-request.ts";

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted on member by member.
  readonly body: any;
}

export interface ConsoleClient {
  readonly cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<ConsoleAnswer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<ConsoleAnswer>;
  delete(path: string): Promise<ConsoleAnswer>;
  /** Collects events until the signal; resolves when the response has begun. */
  follow(path: string, signal: AbortSignal): Promise<ConsoleEvent[]>;
  /** The same for a slow reader: nothing is read before the returned function is called. */
  followLater(path: string, signal: AbortSignal): Promise<() => ConsoleEvent[]>;
}

export interface ConsoleEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly data: any;
}

/** A page as far as the server can tell: follows the link, then sends the cookie that it got. */
export async function openConsole(link: string): Promise<ConsoleClient> {
  const url = new URL(link);
  const entered = await httpRequest({ url: link });
  const cookie = String(entered.headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
  const send = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const answer = await httpRequest({
      url: new URL(path, url.origin),
      method,
      headers: { cookie, ...headers },
      body,
      maxBytes: 64 * 1024 * 1024,
    });
    const isJson = String(answer.headers["content-type"]).startsWith("application/json");
    return {
      status: answer.status,
      headers: answer.headers,
      text: answer.body,
      body: isJson ? JSON.parse(answer.body) : undefined,
    };
  };
  const followLater = async (path: string, signal: AbortSignal) => {
    const { body } = await openHttp({ url: new URL(path, url.origin), headers: { cookie }, signal });
    body.on("error", () => undefined);
    return () => eventsOf(body);
  };
  return {
    cookie,
    get: (path, headers = {}) => send("GET", path, headers),
    delete: (path) => send("DELETE", path, {}),
    post: (path, body, headers = {}) =>
      send("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(body)),
    follow: async (path, signal) => (await followLater(path, signal))(),
    followLater,
  };
}

function eventsOf(body: Readable): ConsoleEvent[] {
  const events: ConsoleEvent[] = [];
  let event = "";
  createInterface({ input: body })
    .on("error", () => undefined)
    .on("line", (line) => {
      if (line.startsWith("event: ")) event = line.slice(7);
      if (line.startsWith("data: ")) events.push({ event, data: JSON.parse(line.slice(6)) });
    });
  return events;
}
