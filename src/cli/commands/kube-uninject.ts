import { errorMessage } from "../../base/coded-error.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { RESOURCE_FLAGS } from "./kube-inject.ts";
import { reportingErrors, USAGE_EXIT_CODE } from "./reporting-errors.ts";
import { readResourceFiles, writeResourceFile } from "./resource-files.ts";

export const command: Command = {
  name: "kube-uninject",
  use: "kube-uninject -f FILE [-f FILE ...] [-o FILE]",
  short: "Take the proxy out of Kubernetes pod resources again",
  long: `Gives the workloads back that kube-inject was given. What kube-inject changed can mostly be seen in the object itself; where
it cannot, kube-inject recorded it in the annotation inject.pilot-agent.io/restore. Documents that were not injected keep their text.`,
  example: `  pilot-agent kube-uninject -f injected.yaml -o deployment.yaml`,
  flags: RESOURCE_FLAGS,
  usageExitCode: USAGE_EXIT_CODE,
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: files go with -f` : undefined,
  run: (context) => reportingErrors(context, () => uninject(context)),
};

async function uninject({ flags, print }: CommandContext): Promise<void> {
  const files = flags.stringArray("filename");
  const texts = await readResourceFiles(files);
  const { uninjectText } = await import("../../inject/index.ts");
  const results = texts.map((source, index) => {
    try {
      return uninjectText(source);
    } catch (failure) {
      throw new Error(`${files[index]}: ${errorMessage(failure)}`, { cause: failure });
    }
  });
  if (flags.string("output") === "") print(results.join(""));
  else await writeResourceFile(flags.string("output"), results.join(""));
}
