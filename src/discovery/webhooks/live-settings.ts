import { isDeepStrictEqual } from "node:util";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import {
  InjectError,
  type InjectionSettings,
  type InjectionTexts,
  loadInjectionSettings,
  type SettingsSources,
  type SourceText,
} from "../../inject/index.ts";
import type { ConfigParser } from "../parse/config-parser.ts";
import type { InjectionInput } from "./injection-input.ts";

export interface LiveSettingsOptions {
  readonly input: Pick<InjectionInput, "current">;
  /** Everything but the texts: mesh config, what the nodes can do, and what never changes. */
  readonly rest: () => Omit<SettingsSources, "config" | "values">;
  readonly parser: Pick<ConfigParser, "parseYaml">;
  readonly log: Logger;
}

export interface LiveSettings {
  /** In force. Throws an InjectError when there was never anything that could be used. */
  settings(): InjectionSettings;
  /** What `settings` were made from: another value when they are others. Throws where `settings` does. */
  sources(): SettingsSources;
  /** Something may have changed. Resolves when what is there now counts, or is refused. */
  refresh(): Promise<void>;
}

/**
 * The settings of injection as their sources change. What cannot be used is logged once and leaves the last good settings in force,
 * also when it is gone. Resolves when the first ones are loaded or refused.
 */
export async function createLiveSettings({ input, rest, parser, log }: LiveSettingsOptions): Promise<LiveSettings> {
  let good: InForce | undefined;
  let seen: unknown;
  let refused = "";
  const parse = async (given: SourceText | undefined) =>
    given && { source: given.source, ...(await parser.parseYaml(given.text)) };
  const load = async () => {
    const texts = input.current();
    const others = rest();
    // Mesh config and rules are the same values while they do not change.
    if (good !== undefined && isDeepStrictEqual([texts, others], seen)) return;
    seen = [texts, others];
    const problem = inputProblem(texts, good?.texts);
    if (problem !== undefined) throw new InjectError("invalid-settings", problem);
    const { config, values } = (texts ?? {}) as InjectionTexts;
    const sources = { ...others, config: await parse(config), values: await parse(values) };
    const settings = loadInjectionSettings(sources, good?.settings);
    const isFirst = good === undefined;
    good = { settings, sources, texts: texts as InjectionTexts | undefined };
    refused = "";
    if (!isFirst) log.info("injection settings changed", { config: config?.source, values: values?.source });
    else if (texts === undefined) log.info("no injection config is given: built-in templates and values are used");
  };
  const attempt = async () => {
    try {
      await load();
    } catch (thrown) {
      // The parser ends with the control plane.
      if (errorCode(thrown) === "stopped") return;
      const error = errorMessage(thrown);
      if (error !== refused)
        log.error("injection config cannot be used", {
          effect: good === undefined ? "pods are refused until it is corrected" : "the last one stays in force",
          error,
        });
      refused = error;
    }
  };
  let last = Promise.resolve();
  const refresh = () => {
    last = last.then(attempt);
    return last;
  };
  await refresh();
  const inForce = () => {
    if (good !== undefined) return good;
    throw new InjectError("invalid-settings", `the injection config cannot be used: ${refused}`);
  };
  return { refresh, settings: () => inForce().settings, sources: () => inForce().sources };
}

interface InForce {
  readonly settings: InjectionSettings;
  readonly sources: SettingsSources;
  readonly texts: InjectionTexts | undefined;
}

/** Half of what was there is not all that is wanted: whoever writes both is still at it, or has made a mistake. */
function inputProblem(
  texts: ReturnType<InjectionInput["current"]>,
  before: InjectionTexts | undefined,
): string | undefined {
  if (texts !== undefined && "problem" in texts) return texts.problem;
  if (before?.config !== undefined && texts?.config === undefined) return `${before.config.source} is gone`;
  if (before?.values !== undefined && texts?.values === undefined) return `${before.values.source} is gone`;
  return undefined;
}
