import { errorMessage } from "../../../base/coded-error.ts";
import { isJsonObject } from "../../../base/json-object.ts";
import { parseGoYaml } from "../../../files/yaml/parse-go-yaml.ts";
import { printYaml } from "../../../files/yaml/print-yaml.ts";
import { InjectError } from "../../inject-error.ts";
import type { Decision } from "../decide.ts";
import { asList, asObject, type Json } from "../json.ts";
import type { InjectionSettings } from "../settings.ts";
import {
  type DocumentOptions,
  documentSteps,
  type InjectedDocument,
  type PodAnswer,
  type PodRequest,
  titleOf,
} from "./inject-document.ts";
import { splitText } from "./split-text.ts";
import { isList } from "./workload-kinds.ts";

/** What became of one workload. */
export interface Outcome {
  readonly title: string;
  readonly name: string;
  readonly decision: Decision;
}

export interface InjectedText {
  readonly text: string;
  readonly outcomes: readonly Outcome[];
}

/** A stream of YAML documents with the proxy in every workload; what is not touched keeps its text. */
export function injectText(text: string, settings: InjectionSettings, options: DocumentOptions): InjectedText {
  const steps = textSteps(text, settings, options);
  let step = steps.next();
  while (step.done !== true) step = steps.next(undefined);
  return step.value;
}

/** The same, where somebody else is asked first for each pod. */
export async function injectTextWith(
  ask: (request: PodRequest) => Promise<PodAnswer>,
  text: string,
  settings: InjectionSettings,
  options: DocumentOptions,
): Promise<InjectedText> {
  const steps = textSteps(text, settings, options);
  let step = steps.next();
  while (step.done !== true) step = steps.next(await ask(step.value));
  return step.value;
}

type Steps<Result> = Generator<PodRequest, Result, PodAnswer>;

function* textSteps(text: string, settings: InjectionSettings, options: DocumentOptions): Steps<InjectedText> {
  const outcomes: Outcome[] = [];
  let printed = "";
  for (const [index, document] of splitText(text).entries()) {
    const data = parseDocument(document, index);
    printed += `${(yield* injectOne(data, settings, options, outcomes)) ?? document}---\n`;
  }
  return { text: printed, outcomes };
}

export function parseDocument(text: string, index: number): unknown {
  try {
    return parseGoYaml(text);
  } catch (failure) {
    throw new InjectError("invalid-document", `document ${index + 1}: ${errorMessage(failure)}`, { cause: failure });
  }
}

/** The printed form; undefined where the document's own text is to stay. */
function* injectOne(
  data: unknown,
  settings: InjectionSettings,
  options: DocumentOptions,
  outcomes: Outcome[],
): Steps<string | undefined> {
  if (!isList(data)) {
    const injected = yield* named(data, documentSteps(data, settings, options));
    if (injected === undefined) return undefined;
    outcomes.push(injected);
    return injected.decision.inject || options.strict ? printYaml(injected.document) : undefined;
  }
  const results: (InjectedDocument | undefined)[] = [];
  for (const item of asList(data.items)) results.push(yield* named(item, documentSteps(item, settings, options)));
  const found = results.filter((result) => result !== undefined);
  outcomes.push(...found);
  if (!options.strict && !found.some(({ decision }) => decision.inject)) return undefined;
  const items = asList(data.items).map((item, index) => {
    const result = results[index];
    return result !== undefined && (options.strict || result.decision.inject) ? result.document : item;
  });
  return printYaml({ ...data, metadata: isJsonObject(data.metadata) ? data.metadata : ({} as Json), items });
}

/** What is wrong with one of many objects says with which. */
function* named<Result>(document: unknown, steps: Steps<Result>): Steps<Result> {
  try {
    return yield* steps;
  } catch (failure) {
    const code = failure instanceof InjectError ? failure.code : "invalid-document";
    throw new InjectError(code, `${titleOf(asObject(document))}: ${errorMessage(failure)}`, { cause: failure });
  }
}
