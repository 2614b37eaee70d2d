import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import type { ValidationProblem } from "./explain-problems.ts";
import type { ConnectionSettings } from "./proxy-config.ts";

type Rule = "non-negative" | "positive" | "at least 65535";

const ALLOWED: Readonly<Record<Rule, string>> = {
  "non-negative": "0 or more",
  positive: "1 or more",
  "at least 65535": "65535 or more",
};

/** HTTP/2 gives every stream and connection a window of this size to begin with; less cannot be announced. */
const SMALLEST_WINDOW = 65_535;

const RULES: readonly (readonly [keyof ConnectionSettings, Rule])[] = [
  ["listenerPerConnectionBufferLimitBytes", "non-negative"],
  ["clusterPerConnectionBufferLimitBytes", "non-negative"],
  ["httpIdleTimeout", "non-negative"],
  ["httpMaxConnectionDuration", "non-negative"],
  ["httpDrainTimeout", "non-negative"],
  ["httpRequestTimeout", "non-negative"],
  ["httpRequestHeadersTimeout", "non-negative"],
  ["httpStreamIdleTimeout", "non-negative"],
  ["httpMaxStreamDuration", "non-negative"],
  ["httpMaxConcurrentStreams", "positive"],
  ["http2InitialStreamWindowSize", "at least 65535"],
  ["http2InitialConnectionWindowSize", "at least 65535"],
  ["listenerConnectionLimit", "positive"],
  ["globalDownstreamConnectionLimit", "positive"],
];

/** Members are checked only where they are set; the messages name them as the proto file does. */
export function connectionSettingsProblems(settings: ConnectionSettings): readonly ValidationProblem[] {
  return RULES.flatMap(([name, rule]) => {
    const value = settings[name];
    if (value === undefined || holds(rule, asNumber(value))) return [];
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const message = `invalid connection settings: ${snake} must be ${rule}`;
    return [{ field: `connectionSettings.${name}`, message, allowed: ALLOWED[rule] }];
  });
}

/** A duration counts in nanoseconds; only its sign matters here. */
function asNumber(value: string | number | boolean): number {
  return typeof value === "string" ? Number(parseProtoDuration(value)) : Number(value);
}

function holds(rule: Rule, value: number): boolean {
  if (rule === "positive") return value > 0;
  return rule === "non-negative" ? value >= 0 : value >= SMALLEST_WINDOW;
}
