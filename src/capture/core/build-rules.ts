import { GENERATION_SHAPES } from "./generations.ts";
import type { Rule } from "./rule.ts";
import { createRuleList } from "./rule-list.ts";
import type { CaptureSettings } from "./settings.ts";

/** What is captured, as an ordered list of rules for both IP versions; empty in mode NONE. The settings must have been checked. */
export function buildRules(settings: CaptureSettings): readonly Rule[] {
  if (settings.interceptionMode === "NONE") return [];
  const shape = GENERATION_SHAPES[settings.generation];
  const list = createRuleList(settings, shape);
  for (const step of shape.steps) step(list);
  return list.rules;
}
