import type { CommandEntry } from "../framework/command.ts";

/** Every sub-command, loaded only when it is the one that runs. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "analyze",
    short: "Finds mistakes in rules, services and workloads before they hurt",
    load: async () => (await import("./analyze.ts")).command,
  },
  {
    name: "ca",
    short: "Runs a small SPIFFE certificate authority",
    load: async () => (await import("./ca.ts")).command,
  },
  {
    name: "collateral",
    short: "Generate collateral support files for this program",
    hidden: true,
    load: async () => {
      const [{ createCollateralCommand }, { listAgentMetrics }] = await Promise.all([
        import("./collateral.ts"),
        import("../../agent/index.ts"),
      ]);
      return createCollateralCommand(COMMANDS, listAgentMetrics);
    },
  },
  {
    name: "completion",
    short: "Generate the autocompletion script for the specified shell",
    load: async () => (await import("./completion.ts")).command,
  },
  {
    name: "discovery",
    short: "Start Istio proxy discovery service",
    load: async () => (await import("./discovery.ts")).command,
  },
  {
    name: "envoy",
    short: "Finds or fetches the Envoy binary",
    load: async () => (await import("./envoy.ts")).command,
  },
  {
    name: "help",
    short: "Help about any command",
    load: async () => (await import("./help.ts")).createHelpCommand(COMMANDS),
  },
  {
    name: "injector",
    short: "Runs the webhooks of the control plane alone",
    load: async () => (await import("./injector.ts")).command,
  },
  {
    name: "istio-clean-iptables",
    short: "Clean up iptables rules for Istio Sidecar",
    load: async () => (await import("./istio-clean-iptables.ts")).command,
  },
  {
    name: "istio-iptables",
    short: "Set up iptables rules for Istio Sidecar",
    load: async () => (await import("./istio-iptables.ts")).command,
  },
  {
    name: "kube-inject",
    short: "Inject the proxy into Kubernetes pod resources",
    load: async () => (await import("./kube-inject.ts")).command,
  },
  {
    name: "kube-uninject",
    short: "Take the proxy out of Kubernetes pod resources again",
    load: async () => (await import("./kube-uninject.ts")).command,
  },
  {
    name: "mesh",
    short: "Runs a whole service mesh on this machine",
    load: async () => (await import("../mesh/mesh.ts")).command,
  },
  {
    name: "proxy",
    short: "XDS proxy agent",
    load: async () => (await import("./proxy.ts")).command,
  },
  {
    name: "request",
    short: "Makes an HTTP request to the Envoy admin API",
    load: async () => (await import("./request.ts")).command,
  },
  {
    name: "simulate",
    short: "Says what would become of a request, without sending it",
    load: async () => (await import("./simulate.ts")).command,
  },
  {
    name: "version",
    short: "Prints out build version information",
    load: async () => (await import("./version.ts")).command,
  },
  {
    name: "wait",
    short: "Waits until the Envoy proxy is ready",
    load: async () => (await import("./wait.ts")).command,
  },
  {
    name: "__complete",
    short: "Request shell completion choices for the specified command-line",
    hidden: true,
    load: async () => (await import("../framework/complete.ts")).createCompleteCommand(COMMANDS, true),
  },
  {
    name: "__completeNoDesc",
    short: "Request shell completion choices for the specified command-line",
    hidden: true,
    load: async () => (await import("../framework/complete.ts")).createCompleteCommand(COMMANDS, false),
  },
];
