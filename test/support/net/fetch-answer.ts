import { request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** One request on a connection of its own, to any address. The limit is for a busy machine. */
export function fetchAnswer(url: string, method = "GET", timeoutMs = 20_000): Promise<Answer> {
  return new Promise((done, fail) => {
    const sent = request(url, { method, agent: false, timeout: timeoutMs }, async (response) => {
      try {
        let body = "";
        for await (const chunk of response) body += String(chunk);
        done({ status: response.statusCode ?? 0, body });
      } catch (thrown) {
        fail(thrown);
      }
    });
    const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: "no-answer" });
    sent.on("timeout", () => sent.destroy(late));
    sent.on("error", fail);
    sent.end();
  });
}

/** Body of a complete answer with status 200; anything else is an error. */
export async function fetchOk(url: string): Promise<string> {
  const { status, body } = await fetchAnswer(url);
  if (status !== 200) throw Object.assign(new Error(`${status} ${body}`), { code: "unexpected-status" });
  return body;
}
