import { CloseStack } from "../../base/close-stack.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { InjectedText } from "../../inject/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";
import { reportingErrors, USAGE_EXIT_CODE } from "./reporting-errors.ts";
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

const SECOND = 1_000_000_000n;

/** Which cluster the settings are from, and as whom it is asked. */
const CLUSTER_FLAGS: readonly FlagSpec[] = [
  {
    name: "cluster",
    type: "bool",
    default: false,
    usage: "Take settings that no file gives from the cluster; so does naming one with a flag below",
  },
  text("kubeconfig", "Kubernetes configuration file", { short: "c" }),
  text("context", "Context of the Kubernetes configuration"),
  text("istioNamespace", "Namespace of the control plane", { short: "i", default: "istio-system" }),
  text("meshConfigMapName", "ConfigMap of the mesh configuration, key mesh; the revision is appended to the default", {
    default: "istio",
  }),
  text("injectConfigMapName", "ConfigMap of the injection, keys config and values; likewise", {
    default: "istio-sidecar-injector",
  }),
  text("as", "User to impersonate"),
  text("as-uid", "UID to impersonate"),
  {
    name: "as-group",
    type: "stringArray",
    default: [],
    usage: "Group to impersonate; may be repeated",
  },
  {
    ...text("namespace", "Has no effect: objects say their namespace themselves", { short: "n" }),
    deprecated: "objects say their namespace themselves",
  },
  text("webhookConfig", "Name of the webhook configuration in messages; the one of the revision is asked", {
    default: "istio-sidecar-injector",
  }),
  text("xds-address", "HOST of the injector, where the webhook's Service selects no pods"),
  {
    name: "kubeclient-timeout",
    type: "duration",
    default: 15n * SECOND,
    usage: "Time for each request to the cluster",
  },
];

const NO_XDS = "injection asks the webhook, not xDS";
const withoutXds = { usage: `Has no effect: ${NO_XDS}`, deprecated: NO_XDS };

/** Of the reference's command, which may ask the control plane's xDS. */
const XDS_FLAGS: readonly FlagSpec[] = [
  ...["xds-label", "cert-dir", "authority"].map((name) => ({ ...text(name, ""), ...withoutXds })),
  ...["insecure", "plaintext"].map((name) => ({ name, type: "bool" as const, default: false, ...withoutXds })),
  { name: "xds-port", type: "int", default: 15012, ...withoutXds },
  { name: "timeout", type: "duration", default: 30n * SECOND, ...withoutXds },
];

export const command: Command = {
  name: "kube-inject",
  use: "kube-inject -f FILE [-f FILE ...] [-o FILE]",
  short: "Inject the proxy into Kubernetes pod resources",
  long: `Injects the proxy into the workloads of Kubernetes manifests: Pod, Deployment, DaemonSet, StatefulSet, ReplicaSet,
ReplicationController, Job, CronJob, DeploymentConfig and List. All other documents, and workloads that are not injected, keep their text.

Templates, values and mesh configuration are built in; files replace or refine them. With --cluster the cluster's webhook is asked for each
pod, as API servers do; --injectConfigMapName takes templates and values from that ConfigMap instead. No cluster is needed, and none is
looked for unless a flag means one.`,
  example: `  # Inject and apply
  kubectl apply -f <(pilot-agent kube-inject -f deployment.yaml)

  # Several files into one, with the values and the mesh configuration of an installation
  pilot-agent kube-inject -f a.yaml -f b.yaml -o injected.yaml --valuesFile values.yaml --meshConfigFile mesh.yaml

  # By the webhook of the cluster that kubectl would talk to
  pilot-agent kube-inject -f deployment.yaml --cluster

  # With the templates of the cluster's ConfigMap
  pilot-agent kube-inject -f deployment.yaml --injectConfigMapName istio-sidecar-injector

  # Why is a workload not injected?
  pilot-agent kube-inject -f deployment.yaml --explain`,
  flags: [
    ...RESOURCE_FLAGS,
    text("meshConfigFile", "Mesh configuration in YAML, over the built-in one"),
    text("injectConfigFile", "Injection configuration in YAML with templates, or the text of a template"),
    text("valuesFile", "Values in YAML or JSON, over the built-in ones"),
    text("operatorFileName", "IstioOperator file; its values and meshConfig win over the files of their own"),
    text("revision", "Revision of the control plane that the proxy belongs to", { short: "r" }),
    ...CLUSTER_FLAGS,
    ...XDS_FLAGS,
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
  usageExitCode: USAGE_EXIT_CODE,
  subcommands: [
    {
      name: "webhook-config",
      short: "Prints the configuration by which API servers ask the injector",
      load: async () => (await import("./webhook-config.ts")).command,
    },
  ],
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: files go with -f` : undefined,
  run: (context) => reportingErrors(context, () => inject(context)),
};

async function inject({ flags, env, print, printError }: CommandContext): Promise<void> {
  const files = flags.stringArray("filename");
  const texts = await readResourceFiles(files);
  await using opened = new CloseStack();
  const [{ readInjectSettings }, { createPodAsker, injectText, injectTextWith, skipWarnings }] = await Promise.all([
    import("../../settings/inject.ts"),
    import("../../inject/index.ts"),
  ]);
  const { settings, warnings, webhook } = await readInjectSettings(flags, env, opened);
  const options = { strict: flags.bool("strict") };
  const unpatched: string[] = [];
  const ask = webhook && createPodAsker(webhook, (title) => unpatched.push(title));
  const results: InjectedText[] = [];
  for (const [index, source] of texts.entries()) {
    try {
      const injected =
        ask === undefined ? injectText(source, settings, options) : injectTextWith(ask, source, settings, options);
      results.push(await injected);
    } catch (failure) {
      throw new Error(`${files[index]}: ${errorMessage(failure)}`, { cause: failure });
    }
  }
  const outcomes = results.flatMap((result) => result.outcomes);
  for (const warning of warnings) printError(`${warning}\n`);
  // The object may say no itself; if it does not, its cluster would not inject it, and the command does.
  const injected = new Set(outcomes.filter(({ decision }) => decision.inject).map(({ title }) => title));
  for (const title of unpatched.filter((each) => injected.has(each)))
    printError(`${title}: ${webhook?.name} does not inject it; it is injected with the cluster's settings\n`);
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
  const skipped = skipWarnings(outcomes, settings.rules);
  if (skipped.length > 0) printError(`\n${skipped.map((warning) => `${warning}\n`).join("")}`);
}
