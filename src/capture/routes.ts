import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CaptureError } from "./capture-error.ts";
import type { Family } from "./core/rule.ts";
import { type CaptureSettings, isTproxy } from "./core/settings.ts";
import type { NetworkContext } from "./network-context.ts";
import { failureText } from "./run-program.ts";

const PASSTHROUGH_V6 = "::6/128";
/** The same address as the kernel's list of addresses writes it. */
const PASSTHROUGH_V6_HEX = "00000000000000000000000000000006";

export interface RouteReport {
  readonly changed: readonly string[];
}

export interface RemovalReport extends RouteReport {
  /** What is still there, and why. */
  readonly failed: readonly string[];
}

/** Puts the passthrough address and, for TPROXY, the policy route in place; what is there already stays as it is. */
export async function configureRoutes(settings: CaptureSettings, context: NetworkContext): Promise<RouteReport> {
  const changed: string[] = [];
  const undo: (readonly string[])[] = [];
  const ip = async (args: readonly string[], back: readonly string[], tolerated?: RegExp) => {
    const result = await context.run({ program: "ip", args });
    if (result.code === 0) {
      changed.push(`ip ${args.join(" ")}`);
      undo.push(back);
      return;
    }
    if (tolerated?.test(result.stderr)) return;
    for (const step of undo.reverse()) await context.run({ program: "ip", args: step });
    throw new CaptureError(
      "routes-failed",
      `failed to configure routes: ${failureText({ program: "ip", args }, result)}`,
    );
  };
  const exists = /File exists/;
  if (settings.ipv6 && !(await hasPassthroughAddress(context))) {
    const address = ["-6", "addr", "add", PASSTHROUGH_V6, "dev", "lo"];
    await ip(address, address.with(2, "del"), exists);
  }
  if (!needsPolicyRoute(settings)) return { changed };
  const { tproxyMark: mark, tproxyRouteTable: table } = settings;
  for (const family of settings.ipv6 ? (["v4", "v6"] as const) : (["v4"] as const)) {
    const version = family === "v4" ? "-4" : "-6";
    // The kernel takes a second equal rule as one more, so look first.
    if (!(await policyRules(family, context)).some((rule) => rule.mark === Number(mark) && rule.table === table)) {
      const rule = [version, "rule", "add", "fwmark", mark, "lookup", table];
      await ip(rule, rule.with(2, "del"), exists);
    }
    const route = [version, "route", "add", "local", "default", "dev", "lo", "table", table];
    await ip(route, route.with(2, "del"), exists);
  }
  return { changed };
}

export function needsPolicyRoute(settings: CaptureSettings): boolean {
  return isTproxy(settings) && settings.inboundPortsInclude !== "";
}

export async function removePassthroughAddress(context: NetworkContext): Promise<RemovalReport> {
  const address = ["-6", "addr", "del", PASSTHROUGH_V6, "dev", "lo"];
  return runEach((await hasPassthroughAddress(context)) ? [address] : [], context);
}

/**
 * What earlier settings needed and these do not: routes after TPROXY or of another mark, and the IPv6 address once capture is IPv4 alone.
 * `marks` are those of the rules that were replaced.
 */
export async function removeStaleRoutes(
  settings: CaptureSettings,
  marks: ReadonlySet<number>,
  context: NetworkContext,
): Promise<RemovalReport> {
  const own = Number(settings.tproxyMark);
  const stale = new Set([own, ...marks]);
  if (needsPolicyRoute(settings)) stale.delete(own);
  const reports = [
    ...(settings.ipv6 ? [] : [await removePassthroughAddress(context)]),
    ...(stale.size === 0 ? [] : [await removePolicyRoutes(context, stale)]),
  ];
  return { changed: reports.flatMap(({ changed }) => changed), failed: reports.flatMap(({ failed }) => failed) };
}

/**
 * Removes the rules that lead packets with one of our marks into a table whose one route is the local default on `lo`, and that route. Other
 * programs use the same recipe with marks of their own; theirs stay, and so does a table that others' rules lead to as well.
 */
export async function removePolicyRoutes(context: NetworkContext, marks: ReadonlySet<number>): Promise<RemovalReport> {
  const reports: RemovalReport[] = [];
  for (const family of ["v4", "v6"] as const) {
    const version = family === "v4" ? "-4" : "-6";
    const all = await policyRules(family, context);
    const rules = all.filter((rule) => rule.isPlain && marks.has(rule.mark));
    const tables: string[] = [];
    for (const table of new Set(rules.map((rule) => rule.table))) {
      if (await isLocalDefaultOnly(version, table, context)) tables.push(table);
    }
    const ours = rules.filter((rule) => tables.includes(rule.table));
    const others = new Set(all.filter((rule) => !ours.includes(rule)).map((rule) => rule.table));
    const commands = [
      ...ours.map(({ mark, table }) => [version, "rule", "del", "fwmark", String(mark), "lookup", table]),
      ...tables
        .filter((table) => !others.has(table))
        .map((table) => [version, "route", "del", "local", "default", "dev", "lo", "table", table]),
    ];
    reports.push(await runEach(commands, context));
  }
  return {
    changed: reports.flatMap(({ changed }) => changed),
    failed: reports.flatMap(({ failed }) => failed),
  };
}

async function runEach(commands: readonly (readonly string[])[], context: NetworkContext): Promise<RemovalReport> {
  const changed: string[] = [];
  const failed: string[] = [];
  for (const args of commands) {
    const result = await context.run({ program: "ip", args });
    if (result.code === 0) changed.push(`ip ${args.join(" ")}`);
    else failed.push(failureText({ program: "ip", args }, result));
  }
  return { changed, failed };
}

async function hasPassthroughAddress({ procNet }: NetworkContext): Promise<boolean> {
  const text = await readFile(join(procNet, "if_inet6"), "utf8").catch(() => "");
  return text.split("\n").some((line) => line.startsWith(PASSTHROUGH_V6_HEX) && /\slo$/.test(line.trimEnd()));
}

interface PolicyRule {
  readonly mark: number;
  readonly table: string;
  /** Nothing but a mark decides. */
  readonly isPlain: boolean;
}

/** `32765: from all fwmark 0x539 lookup 133` */
async function policyRules(family: Family, context: NetworkContext): Promise<readonly PolicyRule[]> {
  const version = family === "v4" ? "-4" : "-6";
  // A table may have a name in /etc/iproute2; the numbers of a list that has them are compared. Small builds of ip do not know the option.
  const numeric = await context.run({ program: "ip", args: [version, "-N", "rule", "list"] });
  const { stdout } =
    numeric.code === 0 ? numeric : await context.run({ program: "ip", args: [version, "rule", "list"] });
  return stdout.split("\n").flatMap((line) => {
    const [, mark, table] = /fwmark (0x[0-9a-f]+) lookup (\S+)/.exec(line) ?? [];
    if (table === undefined) return [];
    return [{ mark: Number(mark), table, isPlain: /^\d+:\s+from all fwmark \S+ lookup \S+\s*$/.test(line) }];
  });
}

async function isLocalDefaultOnly(version: string, table: string, context: NetworkContext): Promise<boolean> {
  const { stdout } = await context.run({ program: "ip", args: [version, "route", "list", "table", table] });
  const routes = stdout.split("\n").filter((line) => line.trim() !== "");
  return routes.length === 1 && /^local default dev lo\b/.test(routes[0] ?? "");
}
