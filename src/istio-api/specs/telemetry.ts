import {
  bool,
  double,
  duration,
  type Infer,
  int32,
  list,
  map,
  message,
  oneOf,
  optional,
  string,
} from "../schema/schema.ts";
import { LABEL_SELECTOR, TARGET_REF } from "./common.ts";

const MODE = oneOf("CLIENT_AND_SERVER", "CLIENT", "SERVER");
const PROVIDERS = list(message("provider", { name: string }));

const CUSTOM_TAG = message(
  "custom tag",
  {
    literal: message("literal", { value: string }),
    environment: message("environment", { name: string, defaultValue: string }),
    header: message("request header", { name: string, defaultValue: string }),
    formatter: message("formatter", { value: string }),
  },
  [["literal", "environment", "header", "formatter"]],
);

const TRACING = message("tracing", {
  match: message("tracing match", { mode: MODE }),
  providers: PROVIDERS,
  randomSamplingPercentage: optional(double),
  disableSpanReporting: optional(bool),
  disableContextPropagation: optional(bool),
  customTags: map(CUSTOM_TAG),
  useRequestIdForTraceSampling: optional(bool),
  enableIstioTags: optional(bool),
});
export interface TelemetryTracing extends Infer<typeof TRACING> {}

const METRICS = message("metrics", {
  providers: PROVIDERS,
  overrides: list(
    message("override", {
      match: message("metric match", { metric: optional(string), customMetric: optional(string), mode: MODE }, [
        ["metric", "customMetric"],
      ]),
      disabled: optional(bool),
      tagOverrides: map(message("tag override", { operation: oneOf("UPSERT", "REMOVE"), value: string })),
    }),
  ),
  reportingInterval: duration,
});
export interface TelemetryMetrics extends Infer<typeof METRICS> {}

const ACCESS_LOGGING = message("access logging", {
  match: message("access log match", { mode: MODE }),
  providers: PROVIDERS,
  disabled: optional(bool),
  filter: message("filter", { expression: string }),
});
export interface TelemetryAccessLogging extends Infer<typeof ACCESS_LOGGING> {}

export const TELEMETRY = message("telemetry", {
  selector: LABEL_SELECTOR,
  targetRef: TARGET_REF,
  targetRefs: list(TARGET_REF),
  tracing: list(TRACING),
  metrics: list(METRICS),
  accessLogging: list(ACCESS_LOGGING),
});
export interface TelemetrySpec extends Infer<typeof TELEMETRY> {}

/** The rule object, not the message of the same name in the mesh settings. */
export const PROXY_CONFIG = message("proxy config", {
  selector: LABEL_SELECTOR,
  concurrency: optional(int32),
  environmentVariables: map(string),
  image: message("proxy image", { imageType: string }),
});
export interface ProxyConfigSpec extends Infer<typeof PROXY_CONFIG> {}
