import type { PrometheusFormat } from "../../protocol/prometheus/sample-line.ts";

/** What a source may be asked for. */
export type SourceKind = "envoy" | "application";

export interface AcceptAnswer {
  readonly accept: string;
  /** Why the default had to do; undefined when something of the scraper's list was usable. */
  readonly warning: string | undefined;
}

const TEXT_FORMAT = "text/plain;version=0.0.4";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const ALLOWED: Readonly<Record<SourceKind, ReadonlySet<string>>> = {
  envoy: new Set(["text/*", "text/plain"]),
  application: new Set(["text/*", "text/plain", "application/openmetrics-text"]),
};

interface MediaType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The scraper's Accept header, cut down to the text formats that can be merged. A missing header is the default without complaint. */
export function acceptFormats(header: string | undefined, kind: SourceKind): AcceptAnswer {
  if (header === undefined || header.trim() === "") return { accept: TEXT_FORMAT, warning: undefined };
  const usable: MediaType[] = [];
  const wildcards = new Set<string>();
  for (const item of header.split(",")) {
    const parsed = parseMediaType(item);
    if (parsed === undefined)
      return {
        accept: TEXT_FORMAT,
        warning: `Failed to parse Accept header ${JSON.stringify(header)}: invalid media type ${JSON.stringify(item.trim())}`,
      };
    const replaced = replaceWildcard(parsed, kind);
    if (replaced !== parsed && wildcards.has(parsed.type.replace("*/*", "*"))) continue;
    if (replaced !== parsed) wildcards.add(parsed.type.replace("*/*", "*"));
    if (ALLOWED[kind].has(replaced.type)) usable.push(replaced);
  }
  if (usable.length === 0)
    return { accept: TEXT_FORMAT, warning: `No recognized encodings found in Accept header ${JSON.stringify(header)}` };
  return {
    accept: usable.map((media, index) => formatMedia(media, usable.length - index)).join(","),
    warning: undefined,
  };
}

function replaceWildcard(media: MediaType, kind: SourceKind): MediaType {
  if (media.type === "*/*" || media.type === "*")
    return { type: "text/plain", parameters: new Map([["version", "0.0.4"]]) };
  if (media.type === "application/*" && kind === "application")
    return { type: "application/openmetrics-text", parameters: new Map([["version", "0.0.1"]]) };
  return media;
}

/** Parameters by name, the rank among them; up to nine steps fit one decimal, more need two. */
function formatMedia({ type, parameters }: MediaType, rank: number): string {
  const quality = rank < 10 ? `0.${rank}` : (rank / 100).toFixed(2);
  const all = new Map(parameters).set("q", quality);
  return [type, ...[...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}=${value}`)].join("; ");
}

function parseMediaType(text: string): MediaType | undefined {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const [main = "", sub, ...more] = type.toLowerCase().split("/");
  if (!TOKEN.test(main) || more.length > 0 || (sub !== undefined && !TOKEN.test(sub))) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    if (part === "") continue;
    const [name = "", value] = part.split("=", 2).map((side) => side.trim());
    const plain = value?.replace(/^"(.*)"$/, "$1");
    if (!TOKEN.test(name) || plain === undefined || !TOKEN.test(plain)) return undefined;
    // The formats that the merged answer announces have no quoted names.
    if (name.toLowerCase() !== "q") parameters.set(name.toLowerCase(), plain === "allow-utf-8" ? "underscores" : plain);
  }
  return { type: type.toLowerCase(), parameters };
}

/** Format of a body and of the merged answer. */
export interface AnswerFormat {
  readonly format: PrometheusFormat;
  readonly contentType: string;
}

export const TEXT_ANSWER: AnswerFormat = { format: "text", contentType: "text/plain; version=0.0.4; charset=utf-8" };

/** What an application's Content-Type makes of the answer; undefined for formats that are not text. */
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
