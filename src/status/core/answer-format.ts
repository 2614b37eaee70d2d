import type { PrometheusFormat } from "../../protocol/prometheus/sample-line.ts";
import { parseMediaType } from "./accept-formats.ts";

/** Format of a body and of the merged answer. */
export interface AnswerFormat {
  readonly format: PrometheusFormat;
  readonly contentType: string;
}

export const TEXT_ANSWER: AnswerFormat = { format: "text", contentType: "text/plain; version=0.0.4; charset=utf-8" };

/** What an application's Content-Type makes of the answer; undefined for formats that are no text. */
export function formatOf(contentType: string | undefined): AnswerFormat | undefined {
  const media = parseMediaType(contentType ?? "");
  if (media?.type === "application/vnd.google.protobuf") return undefined;
  if (media?.type !== "application/openmetrics-text") return TEXT_ANSWER;
  const version = media.parameters.get("version") ?? "0.0.1";
  if (version !== "1.0.0" && version !== "0.0.1") return { ...TEXT_ANSWER, format: "text" };
  return {
    format: "openmetrics",
    contentType: `application/openmetrics-text; version=${version}; charset=utf-8`,
  };
}

/** Several applications: the first one's format when all agree, otherwise text. */
export function commonFormat(answers: readonly AnswerFormat[]): AnswerFormat {
  const [first = TEXT_ANSWER] = answers;
  return answers.every((answer) => answer.contentType === first.contentType) ? first : TEXT_ANSWER;
}
