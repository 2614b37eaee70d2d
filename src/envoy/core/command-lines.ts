/** One element of a command line: a flag whose value comes from the input, in the order Envoy receives them. */
export type BaseFlag =
  | "-c"
  | "--restart-epoch"
  | "--drain-time-s"
  | "--drain-strategy"
  | "--parent-shutdown-time-s"
  | "--service-cluster"
  | "--service-node"
  | "--max-obj-name-len"
  | "--local-address-ip-version"
  | "--bootstrap-version"
  | "--file-flush-interval-msec"
  | "--disable-hot-restart"
  | "--allow-unknown-fields"
  | "--allow-unknown-static-fields"
  | "--log-format-prefix-with-location"
  | "--log-format";

export type TrailingFlag =
  | "--file-flush-min-size-kb"
  | "-l"
  | "--component-log-level"
  | "--skip-deprecated-logs"
  | "--enable-core-dump"
  | "--config-yaml"
  | "--concurrency"
  | "--service-zone";

export interface CommandLine {
  /** First minor version (of 1.x) with this row; it holds up to the next row. */
  readonly since: number;
  readonly base: readonly BaseFlag[];
  readonly trailing: readonly TrailingFlag[];
  readonly logFormat?: { readonly text: string; readonly json?: string };
  /** The interval was a constant before it became a setting. */
  readonly fixedFlushInterval?: boolean;
}

const EXTRAS: readonly TrailingFlag[] = ["-l", "--component-log-level", "--config-yaml", "--concurrency"];
const ISTIO_TIME = "%Y-%m-%dT%T.%fZ";
const TAB_FORMAT = `${ISTIO_TIME}\t%l\tenvoy %n\t%v`;
const TAB_FORMAT_1_17 = `${ISTIO_TIME}\t%l\tenvoy %n %g:%#\t%v\tthread=%t`;
const JSON_FORMAT_1_9 = `{"level":"%l","time":"${ISTIO_TIME}","scope":"%n","msg":"%_"}`;
const JSON_FORMAT_1_17 = `{"level":"%l","time":"${ISTIO_TIME}","scope":"envoy %n","msg":"%j","caller":"%g:%#","thread":%t}`;

const EPOCH_HEAD: readonly BaseFlag[] = ["-c", "--restart-epoch", "--drain-time-s", "--parent-shutdown-time-s"];
const NODE: readonly BaseFlag[] = ["--service-cluster", "--service-node"];
const WITH_NAME_LENGTH: readonly BaseFlag[] = [...EPOCH_HEAD, ...NODE, "--max-obj-name-len"];
const DRAIN: readonly BaseFlag[] = ["-c", "--drain-time-s", "--drain-strategy"];
const EPOCH_DRAIN: readonly BaseFlag[] = ["-c", "--restart-epoch", "--drain-time-s", "--drain-strategy"];
const FLUSH_TAIL: readonly BaseFlag[] = ["--file-flush-interval-msec", "--disable-hot-restart"];

/** Oldest first. What a row does not list, Envoy of that generation does not get. */
export const COMMAND_LINES: readonly CommandLine[] = [
  { since: 0, base: WITH_NAME_LENGTH, trailing: ["-l", "--concurrency", "--service-zone"] },
  { since: 1, base: [...WITH_NAME_LENGTH, "--allow-unknown-fields"], trailing: EXTRAS },
  { since: 2, base: [...WITH_NAME_LENGTH, "--local-address-ip-version", "--allow-unknown-fields"], trailing: EXTRAS },
  {
    since: 4,
    base: [...WITH_NAME_LENGTH, "--local-address-ip-version", "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: "[Envoy (Epoch {epoch})] [%Y-%m-%d %T.%e][%t][%l][%n] %v" },
  },
  {
    since: 6,
    base: [...WITH_NAME_LENGTH, "--local-address-ip-version", "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT },
  },
  {
    since: 7,
    base: [...EPOCH_HEAD, ...NODE, "--local-address-ip-version", "--log-format-prefix-with-location", "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT },
  },
  {
    since: 8,
    base: [
      ...EPOCH_HEAD,
      ...NODE,
      "--local-address-ip-version",
      "--bootstrap-version",
      "--log-format-prefix-with-location",
      "--log-format",
    ],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT },
  },
  {
    since: 9,
    base: [...EPOCH_HEAD, ...NODE, "--local-address-ip-version", "--bootstrap-version", "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT, json: JSON_FORMAT_1_9 },
  },
  {
    since: 10,
    base: [
      ...EPOCH_DRAIN,
      "--parent-shutdown-time-s",
      ...NODE,
      "--local-address-ip-version",
      "--bootstrap-version",
      "--disable-hot-restart",
      "--log-format",
    ],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT, json: JSON_FORMAT_1_9 },
  },
  {
    since: 11,
    base: [
      ...EPOCH_DRAIN,
      "--parent-shutdown-time-s",
      "--local-address-ip-version",
      "--bootstrap-version",
      ...FLUSH_TAIL,
      "--log-format",
    ],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT, json: JSON_FORMAT_1_9 },
    fixedFlushInterval: true,
  },
  {
    since: 12,
    base: [...EPOCH_DRAIN, "--parent-shutdown-time-s", "--local-address-ip-version", ...FLUSH_TAIL, "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT, json: JSON_FORMAT_1_9 },
    fixedFlushInterval: true,
  },
  {
    since: 15,
    base: [...DRAIN, "--parent-shutdown-time-s", "--local-address-ip-version", ...FLUSH_TAIL, "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT, json: JSON_FORMAT_1_9 },
    fixedFlushInterval: true,
  },
  {
    since: 17,
    base: [...DRAIN, "--local-address-ip-version", ...FLUSH_TAIL, "--allow-unknown-static-fields", "--log-format"],
    trailing: EXTRAS,
    logFormat: { text: TAB_FORMAT_1_17, json: JSON_FORMAT_1_17 },
    fixedFlushInterval: true,
  },
  {
    since: 22,
    base: [...DRAIN, "--local-address-ip-version", ...FLUSH_TAIL, "--allow-unknown-static-fields"],
    trailing: [
      "--file-flush-min-size-kb",
      "-l",
      "--component-log-level",
      "--skip-deprecated-logs",
      "--enable-core-dump",
      "--config-yaml",
      "--concurrency",
    ],
  },
];
