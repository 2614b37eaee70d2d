import { request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** One request on a connection of its own, to any address. */
export function fetchAnswer(url: string, method = "GET", timeoutMs = 5000): Promise<Answer> {
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
    sent.on("timeout", () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    sent.on("error", fail);
    sent.end();
  });
}
