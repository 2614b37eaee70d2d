import { parsePort, splitHostPort } from "../net/host-port.ts";
import { ConfigError } from "./config-error.ts";
import type { EnvReader } from "./env-reader.ts";

/** What an agent serves for consoles. */
export interface AgentConsoleSettings {
  /** A unix socket for the console of a mesh; empty: none. */
  readonly socketPath: string;
  /** Where it serves a console of its own. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
}

/** Undefined when there is nothing to serve, which is the default: the code is not even loaded then. */
export function readAgentConsole(
  env: EnvReader,
  flags: { readonly console: string },
): AgentConsoleSettings | undefined {
  const socketPath = env.string("CONSOLE_SOCKET");
  const listen = flags.console === "" ? undefined : consoleAddress(flags.console);
  return socketPath === "" && listen === undefined ? undefined : { socketPath, listen };
}

/** A port alone is one on loopback: other addresses have to be asked for. Throws a ConfigError. */
export function consoleAddress(text: string): { readonly host: string; readonly port: number } {
  const split = splitHostPort(/^:?\d+$/.test(text) ? `127.0.0.1:${text.replace(":", "")}` : text);
  const port = "problem" in split ? undefined : parsePort(split.port);
  if (!("problem" in split) && split.host !== "" && port !== undefined)
    return { host: split.host === "localhost" ? "127.0.0.1" : split.host, port };
  const allowed = "HOST:PORT or a port";
  throw new ConfigError("invalid-console-address", `--console is ${JSON.stringify(text)}, expected ${allowed}`, [
    { source: "flag --console", message: "not an address", value: text, allowed },
  ]);
}
