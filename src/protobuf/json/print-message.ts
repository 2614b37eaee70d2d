import { printYaml } from "../../files/yaml/print-yaml.ts";
import type { MessageTable } from "../message-tables.ts";
import { withoutZeros } from "./zero-values.ts";

/** YAML of a message: sorted camelCase keys, zero values left out, explicit wrapper zeros and empty messages included. Ends with a newline. */
export function printMessage(table: MessageTable, message: object): string {
  return printYaml(withoutZeros(table, message));
}
