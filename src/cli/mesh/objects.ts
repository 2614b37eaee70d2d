import { suggest } from "../../base/suggest.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { KINDS, type Kind } from "../../istio-api/kinds.ts";
import { type MeshState, runningState, type StateFolder, sendObjects, table } from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { CompletionInput } from "../framework/flags.ts";
import { APPLIED, type RuleText, reviewRules } from "./review.ts";
import { runningTexts } from "./rule-texts.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { oneOf, UsageMistake } from "./usage-mistake.ts";

/** As kubectl and istioctl abbreviate them. */
const SHORT_NAMES: Readonly<Record<string, Kind>> = {
  vs: "VirtualService",
  dr: "DestinationRule",
  se: "ServiceEntry",
  we: "WorkloadEntry",
  wg: "WorkloadGroup",
  gw: "Gateway",
  pa: "PeerAuthentication",
  ra: "RequestAuthentication",
  ap: "AuthorizationPolicy",
};

/** A rule of the mesh's user, and where it stands. */
interface FoundObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly from: string;
}

export const getCommand: Command = {
  name: "get",
  use: "get [kind [name ...]]",
  short: "Lists the Istio objects of a running mesh",
  long: "Lists the Istio objects that were applied, that stand in the mesh file and in its folder; of several with one name the first is in force.",
  example: `  pilot-agent mesh get
  pilot-agent mesh get virtualservice catalogue -o yaml`,
  flags: [
    {
      name: "output",
      short: "o",
      type: "string",
      default: "table",
      values: ["table", "yaml", "json"],
      usage: "Format: table, yaml or json",
    },
    ...TARGET_FLAGS,
  ],
  completeArgs,
  async run(context) {
    const output = oneOf("output", context.flags.string("output"), ["table", "yaml", "json"]);
    const { objects } = findObjects(context);
    const chosen = select(objects, context.args);
    if (output === "json")
      context.print(
        `${JSON.stringify(
          chosen.map(({ source }) => source),
          null,
          2,
        )}\n`,
      );
    else if (output === "yaml") context.print(chosen.map(({ source }) => printYaml(source)).join("---\n"));
    else if (chosen.length === 0) context.print("no Istio objects; pilot-agent mesh apply -f FILE applies some\n");
    else {
      const rows = chosen.map(({ kind, namespace, name, from }) => [kind, namespace, name, from]);
      context.print(table([["KIND", "NAMESPACE", "NAME", "FROM"], ...rows]));
    }
    return 0;
  },
};

export const describeCommand: Command = {
  name: "describe",
  use: "describe kind name",
  short: "Shows an Istio object, where it stands and what is wrong with it",
  flags: TARGET_FLAGS,
  checkArgs: (args) => (args.length === 2 ? undefined : `expected a kind and a name, found ${args.length} arguments`),
  completeArgs,
  async run(context) {
    const { objects, texts, state } = findObjects(context);
    const [found] = select(objects, context.args);
    if (found === undefined) return 1;
    const { kind, namespace, name, from, source } = found;
    context.print(`${kind} ${namespace}/${name}, from ${from}\n\n${printYaml(source)}`);
    if (state.plan === undefined) return 0;
    const { errors, warnings } = await reviewRules(state.plan, texts);
    const about = [...errors, ...warnings].filter((line) => line.endsWith(`(${kind} ${namespace}/${name})`));
    if (about.length > 0) context.print(`\n${about.map((line) => `warning: ${line}\n`).join("")}`);
    return 0;
  },
};

export const deleteCommand: Command = {
  name: "delete",
  use: "delete kind name [name ...]",
  short: "Takes back Istio objects that were applied",
  long: "Takes back objects that mesh apply has put into the running mesh, and ends when every proxy has acknowledged.",
  example: "  pilot-agent mesh delete virtualservice catalogue",
  flags: TARGET_FLAGS,
  checkArgs: (args) => (args.length >= 2 ? undefined : `expected a kind and a name, found ${args.length} arguments`),
  completeArgs,
  async run(context) {
    const { objects, state } = findObjects(context);
    const chosen = select(objects, context.args);
    const own = chosen.find(({ from }) => from !== APPLIED);
    const applied = chosen.filter(({ from }) => from === APPLIED);
    if (applied.length === 0 && own !== undefined)
      throw new Error(`${own.kind} ${own.namespace}/${own.name} stands in ${own.from}; remove it there`);
    const sent = applied.map(({ kind, namespace, name, source }) => ({
      kind,
      namespace,
      name,
      text: JSON.stringify(source),
    }));
    const { done, problems } = await sendObjects(state, { objects: sent, isDelete: true });
    for (const { kind, namespace, name } of done) context.print(`${kind} ${namespace}/${name} taken back\n`);
    for (const problem of problems) context.printError(`error: ${problem}\n`);
    return problems.length === 0 ? 0 : 1;
  },
};

interface Found {
  readonly folder: StateFolder;
  readonly state: MeshState;
  readonly texts: readonly RuleText[];
  readonly objects: readonly FoundObject[];
}

/** In the order in which they win: what was applied, the mesh file, its folder. */
function findObjects(context: Pick<CommandContext, "flags" | "env">): Found {
  const folder = targetFolder(context);
  const state = runningState(folder);
  const { texts } = runningTexts(folder, state, context.env);
  const ranked = [...texts.filter(({ file }) => file === APPLIED), ...texts.filter(({ file }) => file !== APPLIED)];
  const objects = ranked.flatMap(({ file, text, line }) => {
    const from = file === APPLIED || line === undefined ? file : `${file}:${line}`;
    const { objects: parsed } = parseConfigText(text, { defaultNamespace: state.plan?.namespace ?? "default" });
    return parsed.map(({ kind, namespace, name, source }) => ({ kind, namespace, name, source, from }));
  });
  return { folder, state, texts, objects };
}

function select(objects: readonly FoundObject[], [word, ...names]: readonly string[]): readonly FoundObject[] {
  if (word === undefined) return objects;
  const kind = kindOf(word);
  const ofKind = objects.filter((object) => object.kind === kind);
  const missing = names.find((name) => !ofKind.some((object) => object.name === name));
  if (missing !== undefined) {
    const known = ofKind.map(({ name }) => name).join(", ") || "none";
    throw new Error(`there is no ${kind} ${missing}; there are ${known}`);
  }
  return ofKind.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** A kind of those that there are, then names. */
function completeArgs(input: CompletionInput): readonly string[] {
  try {
    const { objects } = findObjects(input);
    const [word, ...names] = input.args;
    if (word === undefined) return objects.map(({ kind }) => kind.toLowerCase());
    return select(objects, [word]).flatMap(({ name }) => (names.includes(name) ? [] : [name]));
  } catch {
    // No mesh, no kind: there is nothing to offer.
    return [];
  }
}

function kindOf(word: string): Kind {
  const kinds = Object.keys(KINDS) as readonly Kind[];
  const lower = word.toLowerCase();
  const found =
    SHORT_NAMES[lower] ??
    kinds.find((kind) => [kind, `${kind}s`, kind.replace(/y$/, "ies")].some((form) => form.toLowerCase() === lower));
  if (found !== undefined) return found;
  const [near] = suggest(word, kinds);
  throw new UsageMistake(
    `kind ${word} is not known; ${near === undefined ? `there are ${kinds.join(", ")}` : `did you mean ${near}?`}`,
  );
}
