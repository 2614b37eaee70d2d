import { readTextLimited } from "../../files/read-file.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { readWebhookConfigOptions } from "../../settings/webhook-config.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { reportingErrors, USAGE_EXIT_CODE } from "./reporting-errors.ts";

export const command: Command = {
  name: "webhook-config",
  use: "webhook-config",
  short: "Prints the configuration by which API servers ask the injector",
  long: `Prints a MutatingWebhookConfiguration: which pods the API server asks the injector about, by labels of namespace and pod. With --tag, that of
a name which stands for a revision. The control plane writes the CA bundle itself; --caFile is for those whose account may not.

PILOT_AGENT_GENERATION=1.7 prints the shape of that release.`,
  example: `  # For the control plane without a revision
  pilot-agent kube-inject webhook-config | kubectl apply -f -

  # For revision canary, and the tag prod that stands for it
  pilot-agent kube-inject webhook-config --revision canary | kubectl apply -f -
  pilot-agent kube-inject webhook-config --revision canary --tag prod | kubectl apply -f -

  # An injector outside the cluster
  pilot-agent kube-inject webhook-config --url https://injector.example.com:15017/inject --caFile root-cert.pem`,
  flags: [
    { name: "revision", short: "r", type: "string", default: "", usage: "Revision of the control plane" },
    {
      name: "tag",
      type: "string",
      default: "",
      usage: "Name that stands for the revision; default takes what names none",
    },
    {
      name: "istioNamespace",
      short: "i",
      type: "string",
      default: "istio-system",
      usage: "Namespace of the control plane",
    },
    { name: "service", type: "string", default: "", usage: "Service of the injector (default istiod[-REVISION])" },
    { name: "path", type: "string", default: "/inject", usage: "Path of the service, for example /inject/cluster/C" },
    { name: "url", type: "string", default: "", usage: "https URL of the injector, instead of a service" },
    { name: "caFile", type: "string", default: "", usage: "PEM file of the roots of the injector's certificate" },
    {
      name: "enableNamespacesByDefault",
      type: "bool",
      default: false,
      usage: "Also ask about pods of namespaces that say nothing",
    },
    {
      name: "objectSelector",
      type: "bool",
      default: false,
      usage: "With the shape of 1.7: the label of the pod decides too",
    },
    { name: "reinvocationPolicy", type: "string", default: "Never", usage: "Never or IfNeeded" },
    {
      name: "failurePolicy",
      type: "string",
      default: "Fail",
      usage: "Fail or Ignore: pods while the injector is away",
    },
  ],
  usageExitCode: USAGE_EXIT_CODE,
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  run: (context) => reportingErrors(context, () => printConfiguration(context)),
};

async function printConfiguration({ flags, env, print }: CommandContext): Promise<void> {
  const caFile = flags.string("caFile");
  const caBundle = caFile === "" ? "" : await readTextLimited(caFile);
  const { buildWebhookConfiguration } = await import("../../inject/index.ts");
  print(printYaml(buildWebhookConfiguration(readWebhookConfigOptions(flags, env, caBundle))));
}
