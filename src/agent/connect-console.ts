import { buildStamp, formatVersion } from "../base/build-stamp.ts";
import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import type { Readiness } from "../base/readiness.ts";
import {
  type AgentAccess,
  type ConsoleSources,
  consolePageFolder,
  createAgentPages,
  createMemoryBook,
  type SourceWorkload,
  startAgentSocket,
  startConsole,
  writeConsoleLink,
} from "../console/index.ts";
import { createAdminPoll, type EnvoyHandle } from "../envoy/index.ts";
import type { SecretManager } from "../identity/index.ts";
import type { AgentConsoleSettings } from "../settings/console.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { step } from "./agent-error.ts";
import type { EnvoyExitRecord } from "./launch-envoy.ts";

export interface ConsoleParts {
  readonly opened: CloseStack;
  readonly readiness: Readiness;
  readonly secrets: SecretManager;
  readonly xds: { describeStreams(): unknown } | undefined;
  readonly dns: { describe(): string | undefined } | undefined;
  readonly envoy: EnvoyHandle | undefined;
  readonly exits: () => readonly EnvoyExitRecord[];
  readonly log: Logger;
}

/** The socket for the console of a mesh, and a console of this agent alone. Off unless somebody asked for them. */
export async function connectConsole(
  config: AgentConfig,
  settings: AgentConsoleSettings,
  parts: ConsoleParts,
): Promise<void> {
  const { opened, log } = parts;
  const pages = agentPages(parts);
  if (settings.socketPath !== "") {
    const socket = await startAgentSocket(settings.socketPath, pages, log);
    if (socket !== undefined) opened.add(socket);
  }
  const { listen } = settings;
  if (listen === undefined) return;
  const console = await step("failed to start the console", () =>
    startConsole({
      listen,
      takesNextPort: false,
      pageFolder: consolePageFolder(import.meta.url),
      sources: agentSources(config, pages),
      book: createMemoryBook(),
      log,
    }),
  );
  opened.add(console);
  log.info("the console is served", { url: console.url, linkWithToken: await writeConsoleLink(console) });
}

function agentPages({ opened, readiness, secrets, xds, dns, envoy, exits }: ConsoleParts): AgentAccess {
  const poll = envoy && createAdminPoll(envoy.admin);
  opened.defer(async () => poll?.close());
  return createAgentPages({
    version: formatVersion(buildStamp),
    reasons: () => readiness.reasons(),
    notes: () => readiness.notes(),
    envoy: () =>
      envoy && {
        phase: envoy.phase,
        pid: envoy.pid,
        exits: exits(),
        ask: (method, path, limits) => envoy.admin.fetch(method, path, limits),
        poll: (path, limits) => poll?.fetch(path, limits) ?? envoy.admin.fetch("GET", path, limits),
      },
    certificates: () => secrets.describeCertificates(),
    certificateProblem: () => secrets.unavailableReason(),
    streams: () => xds?.describeStreams() ?? [],
    names: () => dns?.describe(),
  });
}

/** One workload, and what it calls. */
function agentSources(config: AgentConfig, access: AgentAccess): ConsoleSources {
  const { role, agent, proxyConfig } = config;
  const name = role.id.split(".")[0] ?? role.id;
  const workload: SourceWorkload = {
    id: name,
    name,
    namespace: agent.namespace,
    kind: agent.disableEnvoy ? "proxyless" : role.type === "router" ? "gateway" : "sidecar",
    ...(role.ipAddresses[0] === undefined ? {} : { address: role.ipAddresses[0] }),
    labels: {},
    ports: [
      { name: "status", port: config.status.statusPort },
      { name: "admin", port: proxyConfig.proxyAdminPort ?? 15_000 },
    ],
    restarts: [],
    access,
  };
  return {
    identity: {
      version: formatVersion(buildStamp),
      scope: "agent",
      name,
      namespace: agent.namespace,
      startedAt: Date.now(),
    },
    entries: () => ({}),
    services: () => [],
    workloads: () => [workload],
    controlPlane: async () => ({
      phase: "unknown",
      reason: "an agent sees its own connection alone: it is on the workload's page",
    }),
    problems: () => [],
  };
}
