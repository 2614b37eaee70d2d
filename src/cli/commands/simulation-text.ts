import type { Decision, SimulatedCall, Simulation } from "../../simulate/index.ts";
import { originText } from "./mesh-of-objects.ts";

/** More origins of one decision than these are counted. */
const MAX_ORIGINS = 4;

/** What all ways have in common once, then each of them, then the answers. */
export function simulationText(simulation: Simulation, call: SimulatedCall, from: string): string {
  const isHttp = call.speaks === "http1" || call.speaks === "http2";
  const what = isHttp
    ? `${call.method} ${call.host}:${call.port}${call.path}`
    : `a connection to ${call.host}:${call.port}`;
  const shared = commonLength(simulation.map(({ decisions }) => decisions));
  const lines = [`${from}: ${what}`, ""];
  lines.push(...decisionLines(simulation[0]?.decisions.slice(0, shared) ?? [], ""));
  for (const { share, decisions } of simulation.length > 1 ? simulation : []) {
    lines.push("", `${percent(share)} of them:`, ...decisionLines(decisions.slice(shared), "  "));
  }
  lines.push("", ...simulation.map((way) => answerLine(way, simulation.length > 1)));
  return `${lines.join("\n")}\n`;
}

function commonLength(ways: readonly (readonly Decision[])[]): number {
  const [first = []] = ways;
  const isShared = ({ proxy, text }: Decision, at: number) =>
    ways.every((way) => way[at]?.text === text && way[at]?.proxy === proxy);
  const end = first.findIndex((decision, at) => !isShared(decision, at));
  return end === -1 ? first.length : end;
}

function decisionLines(decisions: readonly Decision[], indent: string): readonly string[] {
  let at = "";
  return decisions.flatMap(({ proxy, step, text, origins }) => {
    const heading = proxy === at ? [] : [`${indent}at ${proxy}`];
    at = proxy;
    const shown = origins.slice(0, MAX_ORIGINS).map((origin) => `${indent}${" ".repeat(18)}from ${originText(origin)}`);
    const more =
      origins.length > MAX_ORIGINS ? [`${indent}${" ".repeat(18)}and ${origins.length - MAX_ORIGINS} more`] : [];
    return [...heading, `${indent}  ${step.padEnd(16)}${text}`, ...shown, ...more];
  });
}

function answerLine({ share, value }: Simulation[number], isOneOfMany: boolean): string {
  const status = value.status === undefined ? "" : `${value.status} `;
  const flags = value.flags.length === 0 ? "" : `${value.flags.join(",")} `;
  return `Answer${isOneOfMany ? ` (${percent(share)})` : ""}: ${status}${flags}${value.text}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}
