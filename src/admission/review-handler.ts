import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { abortAfter } from "../base/abort-after.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { parseDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import { errorText, HttpError, type HttpHandler, type HttpRequest } from "../net/http-server/http-types.ts";
import { type AdmissionRequest, buildAnswer, parseReview, type Verdict } from "./core/review.ts";
import type { Gate } from "./gate.ts";

export interface Reviewer {
  /** The path is decoded. A rejection is answered as a refusal with its message. */
  review(request: AdmissionRequest, path: string): Verdict | Promise<Verdict>;
  /** The answer to a body of more than LARGE_BODY_BYTES, made where it does not hold up the serving thread; absent: like any other. */
  answerLarge?(body: Buffer, path: string): Promise<string>;
  /** Requests that did not come to a review. */
  onHttpError?(status: number): void;
}

/** The most hostile review of this size takes about 20 ms; those of nearly all objects are smaller. */
const LARGE_BODY_BYTES = 64 * 1024;

export interface ReviewLimits {
  readonly maxBodyBytes: number;
  /** The longest that a review waits and takes; less where the API server says so. */
  readonly budgetMs: number;
}

const unzip = promisify(gunzip);
const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/** Answers reviews: the checks of the request in the order of the reference, then the reviewer's verdict. */
export function createReviewHandler(
  reviewer: Reviewer,
  { gate, limits, log }: { readonly gate: Gate; readonly limits: ReviewLimits; readonly log: Logger },
): HttpHandler {
  const refuse = (status: number, text: string) => {
    reviewer.onHttpError?.(status);
    return errorText(status, text);
  };
  const answerHere = async (body: Buffer, path: string): Promise<string> => {
    const review = parseReview(body.toString("utf8"));
    const verdict: Verdict =
      "problem" in review
        ? { allowed: false, message: review.problem }
        : await verdictOf(reviewer, review.request, path, log);
    return buildAnswer(review, verdict);
  };
  const answerElsewhere = async (body: Buffer, path: string): Promise<string> => {
    if (reviewer.answerLarge === undefined) return answerHere(body, path);
    try {
      return await reviewer.answerLarge(body, path);
    } catch (thrown) {
      const error = errorMessage(thrown);
      log.error("review of a large object failed", { path, bytes: body.length, error });
      throw new HttpError(500, `internal error: a review of ${body.length} bytes failed: ${error}`);
    }
  };
  const answer: HttpHandler = async (request) => {
    const body = await readBody(request, limits.maxBodyBytes);
    if (body.length === 0) return refuse(400, "no body found");
    if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) {
      return refuse(415, "invalid Content-Type, want `application/json`");
    }
    const path = decodePath(request.path);
    const text = await (body.length > LARGE_BODY_BYTES ? answerElsewhere(body, path) : answerHere(body, path));
    return { status: 200, contentType: "application/json", body: text };
  };
  return async (request, parameters) => {
    if (!gate.tryEnter() && !(await waitForRoom(gate, request, limits.budgetMs))) {
      if (request.closed.aborted) return refuse(503, "the client has gone");
      return refuse(503, "too many reviews are under way, and this one waited as long as its time allows: try again");
    }
    try {
      return await answer(request, parameters);
    } catch (thrown) {
      if (thrown instanceof HttpError) return refuse(thrown.status, thrown.message);
      throw thrown;
    } finally {
      gate.leave();
    }
  };
}

async function waitForRoom(gate: Gate, request: HttpRequest, maxMs: number): Promise<boolean> {
  using budget = abortAfter(budgetOf(request, maxMs), request.closed);
  return await gate.enter(budget.signal);
}

async function verdictOf(reviewer: Reviewer, request: AdmissionRequest, path: string, log: Logger): Promise<Verdict> {
  try {
    return await reviewer.review(request, path);
  } catch (thrown) {
    // A fault of ours: the object may be good.
    log.error("review failed", { path, kind: request.kind.kind, name: request.name, error: errorMessage(thrown) });
    return { allowed: false, message: `internal error: ${errorMessage(thrown)}` };
  }
}

async function readBody(request: HttpRequest, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new HttpError(400, `Request entity too large: limit is ${maxBytes}`);
  const body = await request.body(maxBytes).catch((thrown: unknown) => {
    throw thrown instanceof HttpError ? tooLarge() : thrown;
  });
  const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding === "identity" || body.length === 0) return body;
  if (encoding !== "gzip") {
    throw new HttpError(415, `Content-Encoding is ${JSON.stringify(encoding)}, allowed are gzip and identity`);
  }
  return unzip(body, { maxOutputLength: maxBytes }).catch((thrown: unknown) => {
    if (errorCode(thrown) === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
    throw new HttpError(400, `the body is not gzip: ${errorMessage(thrown)}`);
  });
}

/** API servers say how long they wait, as `?timeout=10s`. */
function budgetOf({ query }: HttpRequest, maxMs: number): number {
  const given = query.get("timeout");
  if (given === null) return maxMs;
  try {
    const ms = parseDurationMs(given);
    return ms > 0 ? Math.min(ms, maxMs) : maxMs;
  } catch {
    return maxMs;
  }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new HttpError(400, `the path has a bad escape: ${path}`);
  }
}
