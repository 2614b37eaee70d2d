import { errorMessage } from "../../../base/coded-error.ts";
import { parseGoYaml } from "../../../files/yaml/parse-go-yaml.ts";
import { printYaml } from "../../../files/yaml/print-yaml.ts";
import { InjectError } from "../../inject-error.ts";
import type { Decision } from "../decide.ts";
import { asList, isObject, type Json } from "../json.ts";
import type { InjectionSettings } from "../settings.ts";
import { type DocumentOptions, injectDocument } from "./inject-document.ts";
import { splitText } from "./split-text.ts";
import { isList } from "./workload-kinds.ts";

/** What became of one workload. */
export interface Outcome {
  readonly title: string;
  readonly decision: Decision;
}

export interface InjectedText {
  readonly text: string;
  readonly outcomes: readonly Outcome[];
}

/** A stream of YAML documents with the proxy in every workload; what is not touched keeps its text. */
export function injectText(text: string, settings: InjectionSettings, options: DocumentOptions): InjectedText {
  const outcomes: Outcome[] = [];
  const printed = splitText(text).map((document, index) => {
    const data = parseDocument(document, index);
    return injectOne(data, settings, options, outcomes) ?? document;
  });
  return { text: printed.map((document) => `${document}---\n`).join(""), outcomes };
}

export function parseDocument(text: string, index: number): unknown {
  try {
    return parseGoYaml(text);
  } catch (failure) {
    throw new InjectError("invalid-document", `document ${index + 1}: ${errorMessage(failure)}`, { cause: failure });
  }
}

/** The printed form; undefined where the document's own text is to stay. */
function injectOne(
  data: unknown,
  settings: InjectionSettings,
  options: DocumentOptions,
  outcomes: Outcome[],
): string | undefined {
  if (!isList(data)) {
    const injected = injectDocument(data, settings, options);
    if (injected === undefined) return undefined;
    outcomes.push(injected);
    return injected.decision.inject || options.strict ? printYaml(injected.document) : undefined;
  }
  const results = asList(data.items).map((item) => injectDocument(item, settings, options));
  const found = results.filter((result) => result !== undefined);
  outcomes.push(...found);
  if (!options.strict && !found.some(({ decision }) => decision.inject)) return undefined;
  const items = asList(data.items).map((item, index) => {
    const result = results[index];
    return result !== undefined && (options.strict || result.decision.inject) ? result.document : item;
  });
  return printYaml({ ...data, metadata: isObject(data.metadata) ? data.metadata : ({} as Json), items });
}
