import { isJsonObject } from "../../base/json-object.ts";
import type { RawHealthCheck, RawService } from "./raw-mesh-file.ts";

type Say = (member: string, what: string) => void;

interface ComposePort {
  /** What the application listens on, and other services call. */
  readonly target: number;
  readonly published: number | undefined;
}

/** `ports` and `expose`: what is published can be called from outside the mesh. */
export function composePorts(
  service: Readonly<Record<string, unknown>>,
  say: Say,
): Pick<RawService, "port" | "ports" | "entry"> {
  const published = listOf(service.ports).flatMap((each) => toPort(each, (what) => say("ports", what)));
  const exposed = listOf(service.expose).flatMap((each) => toPort(each, (what) => say("expose", what)));
  const all = [...published, ...exposed];
  const numbers = [...new Set(all.map(({ target }) => target))];
  for (const { target, published: open } of published) {
    if (open !== undefined && open !== target)
      say("ports", `port ${target} is published as ${open} there, as ${target} here`);
  }
  const entry = published.length > 0 ? { entry: true } : {};
  const [first, ...others] = numbers;
  if (first === undefined) return {};
  if (others.length === 0) return { port: first, ...entry };
  return { ports: Object.fromEntries(numbers.map((port) => [`p${port}`, port])), ...entry };
}

/** 8080, "8080:80", "127.0.0.1:8080:80/tcp", {target: 80, published: 8080} */
function toPort(given: unknown, say: (what: string) => void): readonly ComposePort[] {
  const { target, published, protocol } = recordOf(given) ?? {};
  const [text = "", kind = "tcp"] =
    target === undefined ? String(given).split("/") : [`${published ?? ""}:${target}`, protocol];
  const [inside = "", outside = ""] = String(text).split(":").toReversed();
  if (kind !== "tcp") {
    say(`port ${text}/${kind} is not taken over: only TCP is`);
    return [];
  }
  if (!/^\d+$/.test(inside) || !/^\d*$/.test(outside)) {
    say(`port ${text} is not taken over: only single ports are`);
    return [];
  }
  return [{ target: Number(inside), published: outside === "" ? undefined : Number(outside) }];
}

export function composeHealth(given: unknown, say: Say): RawHealthCheck | undefined {
  const check = recordOf(given);
  if (check === undefined || check.disable === true) return undefined;
  const command = testCommand(check.test);
  if (command === undefined) return undefined;
  if (check.start_interval !== undefined) say("healthcheck", "healthcheck.start_interval is not taken over");
  const text = (member: "interval" | "timeout" | "start_period") =>
    check[member] === undefined ? {} : { [member]: String(check[member]) };
  return {
    command,
    // Compose's own defaults.
    interval: "30s",
    timeout: "30s",
    ...text("interval"),
    ...text("timeout"),
    ...text("start_period"),
    ...(typeof check.retries === "number" ? { retries: check.retries } : {}),
  };
}

/** ["CMD", ...], ["CMD-SHELL", line], ["NONE"] or a line */
function testCommand(test: unknown): RawHealthCheck["command"] | undefined {
  if (typeof test === "string") return test;
  const [kind, ...words] = listOf(test).map(String);
  if (kind === "CMD-SHELL") return words.join(" ");
  return kind === "CMD" && words.length > 0 ? words : undefined;
}

/** A map, or NAME=value; a name alone is that variable of the environment. */
export function variablesOf(
  given: unknown,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const pairs: readonly (readonly [string, unknown])[] = Array.isArray(given)
    ? given.map((each) => {
        const [name = "", ...value] = String(each).split("=");
        return [name, value.length === 0 ? null : value.join("=")];
      })
    : Object.entries(recordOf(given) ?? {});
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => {
      const known = value ?? env[name];
      return known === undefined || known === null ? [] : [[name, String(known)]];
    }),
  );
}

export function listOf(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isJsonObject(value) ? value : undefined;
}
