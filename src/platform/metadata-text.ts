import { CodedError } from "../base/coded-error.ts";
import { type HttpRequestOptions, httpRequest } from "../net/http-client/http-request.ts";

export class MetadataError extends CodedError<"unexpected-status"> {}

/** The body of a 200 answer of a metadata server. Rejects on any other status, and as `httpRequest` does. */
export async function metadataText(url: string, options: Omit<HttpRequestOptions, "url">): Promise<string> {
  const { status, body } = await httpRequest({ ...options, url });
  if (status !== 200) throw new MetadataError("unexpected-status", `${url} answered ${status}`);
  return body;
}
