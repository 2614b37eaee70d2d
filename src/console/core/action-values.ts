import { ActionError } from "./action-error.ts";

export function inRange(name: string, value: unknown, least: number, most: number): void {
  if (typeof value !== "number" || !Number.isFinite(value) || value < least || value > most)
    throw new ActionError(`${name} is ${JSON.stringify(value) ?? "missing"}, allowed are ${least} to ${most}`);
}

/** `1500` is `1.5s`, `200` is `200ms`. */
export function durationText(ms: number): string {
  return ms >= 1000 ? `${Number((ms / 1000).toFixed(3))}s` : `${Math.round(ms)}ms`;
}
