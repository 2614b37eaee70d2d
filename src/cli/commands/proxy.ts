import type { Agent } from "../../agent/index.ts";
import { buildStamp, formatVersion } from "../../base/build-stamp.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { quoteGo } from "../../base/go-quote.ts";
import type { Logger } from "../../base/logger.ts";
import { untilAborted } from "../../base/wait.ts";
import { EnvoyError } from "../../envoy/index.ts";
import { ConfigError, describeProblem } from "../../settings/config-error.ts";
import { chooseGeneration } from "../../settings/generations.ts";
import { defaultProxyFlags } from "../../settings/proxy-flags.ts";
import { type AgentConfig, type AgentConfigSources, readAgentConfig } from "../../settings/read-agent-config.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { flagValue, formatFlagValue } from "../framework/flag-values.ts";
import { LOG_FLAGS } from "../framework/log-flags.ts";
import { withHelp } from "../framework/run-cli.ts";
import { ignoredFlagWarnings, loggedFlags, PROXY_FLAGS, proxyFlagsOf, toProxyFlags } from "./proxy-flags.ts";

export const command: Command = {
  name: "proxy",
  use: "proxy",
  short: "XDS proxy agent",
  example: `  # As the injector starts it
  pilot-agent proxy sidecar --domain $(POD_NAMESPACE).svc.cluster.local --proxyLogLevel=warning

  # A gateway with JSON logs
  pilot-agent proxy router --log_as_json

  # With a console of this agent alone; its link is in a file that the log names
  pilot-agent proxy sidecar --console 15700`,
  flags: PROXY_FLAGS,
  shownFlags: (env) => proxyFlagsOf(defaultProxyFlags(chooseGeneration(env.PILOT_AGENT_GENERATION))),
  toleratesUnknownFlags: true,
  completeArgs: ({ args }) => (args.length === 0 ? ["router", "sidecar"] : []),
  run: runProxy,
};

async function runProxy(context: CommandContext): Promise<number> {
  const { log, env, flags } = context;
  // From here on no signal kills the process: what has been started must be stopped in order.
  const signals = listenForSignals(context);
  for (const line of flagLines(context)) log.info(line);
  log.info(`Version ${formatVersion(buildStamp)}`);
  const generation = chooseGeneration(env.PILOT_AGENT_GENERATION);
  for (const warning of ignoredFlagWarnings(flags, generation.hasRegistryFlags)) log.warn(warning);

  const config = await readConfig(log, {
    args: context.args,
    flags: toProxyFlags(flags, defaultProxyFlags(generation)),
    env,
    log,
    generation,
    environmentWarned: true,
    uid: process.getuid?.() ?? 0,
    signal: signals.first,
  });
  if (signals.first.aborted) return 0;
  // Loaded in a turn of its own: all the code at once would keep the event loop busy for longer than anything later does.
  const { startAgent } = await import("../../agent/index.ts");
  const { commandLine, logRoot, uptimeMs } = context;
  const options = { config, env, commandLine, log: logRoot, uptimeMs, signal: signals.first };
  const started = await startAgent(options).catch((failure: unknown) => {
    // A cancelled start has not failed.
    if (!signals.first.aborted) {
      if (errorCode(failure) === "fatal-config") log.fatal(errorMessage(failure));
      throw failure;
    }
    log.info(`Start ended by a signal: ${errorMessage(failure)}`);
  });
  if (started === undefined) return 0;
  await using agent = started;
  signals.attach(agent);
  const code = await untilEnded(agent, signals.first);
  await signals.settled();
  return code;
}

/** What to change, problem by problem with its source, ahead of the one error that ends the command. */
async function readConfig(log: Logger, sources: AgentConfigSources): Promise<AgentConfig> {
  try {
    return await readAgentConfig(sources);
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      for (const problem of thrown.problems) log.error(`Configuration problem: ${describeProblem(problem)}`);
    }
    throw thrown;
  }
}

interface Signals {
  /** Aborts with the first SIGTERM or SIGINT. */
  readonly first: AbortSignal;
  /** Signals now reach the agent; one that came before does so at once. */
  attach(agent: Agent): void;
  /** Resolves when the termination that a signal began is over. */
  settled(): Promise<void>;
}

const SIGNAL_WORDS = { SIGTERM: "terminated", SIGINT: "interrupt" } as const;

function listenForSignals({ onSignal, log }: CommandContext): Signals {
  const controller = new AbortController();
  let agent: Agent | undefined;
  let pending: string[] = [];
  let termination: Promise<void> = Promise.resolve();
  const terminate = (cause: string) => {
    if (agent === undefined) pending.push(cause);
    else termination = agent.terminate(cause);
  };
  onSignal((name) => {
    if (name === "SIGHUP") {
      if (agent === undefined) log.info("SIGHUP before Envoy was started: nothing to restart");
      else agent.reload("SIGHUP");
      return;
    }
    controller.abort(name);
    terminate(`received signal: ${SIGNAL_WORDS[name]}`);
  });
  return {
    first: controller.signal,
    attach(started) {
      agent = started;
      const early = pending;
      pending = [];
      for (const cause of early) terminate(cause);
    },
    settled: () => termination,
  };
}

/** The exit code: 0 after an orderly end, Envoy's own failure by its code. */
async function untilEnded(agent: Agent, signal: AbortSignal): Promise<number> {
  try {
    await Promise.race([agent.ended, untilAborted(signal)]);
    return 0;
  } catch (thrown) {
    if (thrown instanceof EnvoyError) return thrown.exitCode;
    throw thrown;
  }
}

/** One line per flag with its parsed value, sorted by name. */
function flagLines({ flags }: CommandContext): string[] {
  return withHelp([...loggedFlags(flags), ...LOG_FLAGS], "proxy")
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((spec) => `FLAG: --${spec.name}=${quoteGo(formatFlagValue(flagValue(flags, spec)))}`);
}
