import { httpRequest } from "../../net/http-client/http-request.ts";
import { checkPartialSuccess, OtlpError } from "./export-answer.ts";
import { type OtlpExporter, type OtlpSettings, readTls } from "./exporter.ts";

/** OTLP over HTTP with protobuf, each request on a connection of its own. */
export function createHttpExporter(settings: OtlpSettings): OtlpExporter {
  const { endpoint, timeoutMs, headers } = settings;
  return {
    async send(body, signal) {
      const answer = await httpRequest({
        url: endpoint,
        method: "POST",
        headers: { "content-type": "application/x-protobuf", ...headers },
        body,
        timeoutMs,
        signal,
        maxBytes: 64 * 1024,
        truncates: true,
        ...(endpoint.startsWith("https:") && { tls: await readTls(settings) }),
      });
      if (answer.status < 200 || answer.status > 299) throw refusal(answer.status, answer.headers["retry-after"]);
      checkPartialSuccess(answer.bytes);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The list of OTLP's specification, which leaves 500 out. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function refusal(status: number, retryAfter: string | undefined): OtlpError {
  const code = RETRYABLE.has(status) ? "retryable" : "permanent";
  // A date is the other form. Collectors send seconds.
  const isSeconds = retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter);
  return new OtlpError(code, `the collector answers ${status}`, {
    ...(isSeconds && { retryAfterMs: Number(retryAfter) * 1000 }),
  });
}
