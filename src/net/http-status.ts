import { STATUS_CODES } from "node:http";

/** The reason phrase of a status code; undefined for codes without a registered one. */
export function reasonPhrase(status: number): string | undefined {
  return STATUS_CODES[status];
}
