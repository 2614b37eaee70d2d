import type { ApiError, Problem } from "../../src/console/api.ts";

/** An answer that is not 2xx, with what the server said. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  constructor(status: number, message: string, problems: readonly Problem[] = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

export function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return call<T>("GET", path, undefined, signal);
}

export function postJson<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  return call<T>("POST", path, body, signal);
}

export function deleteJson<T>(path: string): Promise<T> {
  return call<T>("DELETE", path);
}

/** `/api/workloads/shop%2Ffront` and the like. */
export function apiPath(...segments: readonly string[]): string {
  return `/api/${segments.map(encodeURIComponent).join("/")}`;
}

async function call<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(path, {
    method,
    credentials: "same-origin",
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer.ok) return (await answer.json()) as T;
  const said = (await answer.json().catch(() => undefined)) as ApiError | undefined;
  throw new ApiFailure(answer.status, said?.error ?? `${method} ${path}: status ${answer.status}`, said?.problems);
}

export type EventHandlers<Events> = { readonly [Name in keyof Events]?: (data: Events[Name]) => void };

export interface Subscription {
  close(): void;
}

/** The browser opens an event source again by itself after a lost connection, but not after a refusal: both are done here alike. */
export function subscribe<Events>(
  path: string,
  handlers: EventHandlers<Events>,
  onState: (state: "open" | "lost") => void = () => undefined,
): Subscription {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = FIRST_WAIT_MS;
  const open = () => {
    const opened = new EventSource(path);
    source = opened;
    opened.onopen = () => {
      waitMs = FIRST_WAIT_MS;
      onState("open");
    };
    opened.onerror = () => {
      opened.close();
      onState("lost");
      timer = setTimeout(open, waitMs);
      waitMs = Math.min(2 * waitMs, LAST_WAIT_MS);
    };
    for (const [name, handle] of Object.entries(handlers) as [string, (data: unknown) => void][])
      opened.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data)));
  };
  open();
  return {
    close: () => {
      source?.close();
      clearTimeout(timer);
    },
  };
}

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 5000;
