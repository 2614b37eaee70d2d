import { request } from "node:http";

/** One request on a connection of its own; rejects on anything but a complete 200. */
export function getOnce(port: number, host = "127.0.0.1"): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, path: "/", agent: false, headers: { connection: "close" } }, (incoming) => {
      let body = "";
      incoming.on("data", (chunk) => {
        body += chunk;
      });
      incoming.on("error", reject);
      incoming.on("end", () => {
        if (incoming.statusCode === 200) resolve(body);
        else reject(new Error(`status ${incoming.statusCode}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

export interface Load {
  readonly sent: () => number;
  readonly failures: () => readonly string[];
  /** Requests answered so far, by body. */
  readonly bodies: () => ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Sends requests one after the other on each of a few lanes, every one on a new connection, until stopped. */
export function startLoad(port: number, lanes = 4): Load {
  const failures: string[] = [];
  const bodies = new Map<string, number>();
  let sent = 0;
  let isStopped = false;
  const lane = async () => {
    while (!isStopped) {
      sent++;
      try {
        const body = await getOnce(port);
        bodies.set(body, (bodies.get(body) ?? 0) + 1);
      } catch (thrown) {
        failures.push(String(thrown));
      }
    }
  };
  const running = Promise.all(Array.from({ length: lanes }, lane));
  return {
    sent: () => sent,
    failures: () => failures,
    bodies: () => bodies,
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}
