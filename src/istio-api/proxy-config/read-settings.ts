import { GO_JSON } from "../../protobuf/json/go-dialect.ts";
import { formatPath, readMessage } from "../../protobuf/json/read-message.ts";
import type { MessageTable } from "../../protobuf/message-tables.ts";
import type { DecodeProblem } from "../config-problem.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";

export interface ReadSettings {
  /** The fields the document sets, by JSON name. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly problems: readonly DecodeProblem[];
  /** Paths of keys that the message does not have; they have no effect. */
  readonly unknown: readonly string[];
}

/** A document of mesh or proxy settings. */
export function readSettings(table: MessageTable, document: unknown, rules: ProxyConfigRules): ReadSettings {
  const isIgnored = (_table: MessageTable, { name }: { readonly name: string }) =>
    name === "parentShutdownDuration" && !rules.legacyProxyConfigDefaults;
  const { value, problems } = readMessage(table, document, { ...GO_JSON, isIgnored });
  return {
    value,
    problems: problems
      .filter(({ code }) => code !== "unknown")
      .map(({ path, message, value: found, allowed }) => ({ path: formatPath(path), message, value: found, allowed })),
    unknown: problems.filter(({ code }) => code === "unknown").map(({ path }) => formatPath(path)),
  };
}
