import { errorMessage } from "../../base/coded-error.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";
import { readResourceFiles, writeResourceFile } from "./resource-files.ts";

function text(
  name: string,
  usage: string,
  more: { readonly short?: string; readonly default?: string } = {},
): FlagSpec {
  return { name, type: "string", default: "", usage, ...more };
}

export const RESOURCE_FLAGS: readonly FlagSpec[] = [
  {
    name: "filename",
    short: "f",
    type: "stringArray",
    default: [],
    usage: "Input Kubernetes resource file, - for the standard input; may be repeated",
  },
  text("output", "Output file; written whole or not at all (default the standard output)", { short: "o" }),
];

export const command: Command = {
  name: "kube-inject",
  use: "kube-inject -f FILE [-f FILE ...] [-o FILE]",
  short: "Inject the proxy into Kubernetes pod resources",
  long: `Injects the proxy into the workloads of Kubernetes manifests: Pod, Deployment, DaemonSet, StatefulSet, ReplicaSet,
ReplicationController, Job, CronJob, DeploymentConfig and List. All other documents, and workloads that are not injected, keep their text.

Templates, values and mesh configuration are built in; files replace or refine them. No cluster is needed.`,
  example: `  # Inject and apply
  kubectl apply -f <(pilot-agent kube-inject -f deployment.yaml)

  # Several files into one, with the values and the mesh configuration of an installation
  pilot-agent kube-inject -f a.yaml -f b.yaml -o injected.yaml --valuesFile values.yaml --meshConfigFile mesh.yaml

  # Why is a workload not injected?
  pilot-agent kube-inject -f deployment.yaml --explain`,
  flags: [
    ...RESOURCE_FLAGS,
    text("meshConfigFile", "Mesh configuration in YAML, over the built-in one"),
    text("injectConfigFile", "Injection configuration in YAML with templates, or the text of a template"),
    text("valuesFile", "Values in YAML or JSON, over the built-in ones"),
    text("operatorFileName", "IstioOperator file; its values and meshConfig win over the files of their own"),
    text("revision", "Revision of the control plane that the proxy belongs to", { short: "r" }),
    {
      name: "explain",
      type: "bool",
      default: false,
      usage: "Print for each workload which rule decided, and nothing else",
    },
    {
      name: "strict",
      type: "bool",
      default: false,
      usage: "To the letter as istioctl: print all workloads again, a CronJob's metadata on its job template only",
    },
  ],
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: files go with -f` : undefined,
  run: (context) => reportingErrors(context, () => inject(context)),
};

/** Exit code 1 and the message, nothing more: the command is used in scripts. */
export async function reportingErrors({ printError }: CommandContext, run: () => Promise<void>): Promise<number> {
  try {
    await run();
    return 0;
  } catch (failure) {
    printError(`Error: ${errorMessage(failure).trimEnd()}\n`);
    return 1;
  }
}

async function inject({ flags, env, print, printError }: CommandContext): Promise<void> {
  const files = flags.stringArray("filename");
  const texts = await readResourceFiles(files);
  const [{ readInjectSettings }, { injectText, skipWarnings }] = await Promise.all([
    import("../../settings/inject.ts"),
    import("../../inject/index.ts"),
  ]);
  const { settings, warnings } = await readInjectSettings(flags, env);
  const results = texts.map((source, index) => {
    try {
      return injectText(source, settings, { strict: flags.bool("strict") });
    } catch (failure) {
      throw new Error(`${files[index]}: ${errorMessage(failure)}`, { cause: failure });
    }
  });
  const outcomes = results.flatMap((result) => result.outcomes);
  for (const warning of warnings) printError(`${warning}\n`);
  if (flags.bool("explain")) {
    for (const { title, decision } of outcomes) {
      print(`${title}: ${decision.inject ? "injected" : "not injected"}: ${decision.reason}\n`);
      for (const warning of decision.warnings) print(`  ${warning}\n`);
    }
    return;
  }
  const output = results.map((result) => result.text).join("");
  if (flags.string("output") === "") print(output);
  else await writeResourceFile(flags.string("output"), output);
  const skipped = skipWarnings(outcomes);
  if (skipped.length > 0) printError(`\n${skipped.map((warning) => `${warning}\n`).join("")}`);
}
