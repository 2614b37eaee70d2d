import type { Command } from "../framework/command.ts";
import { sendRequest } from "./loopback-request.ts";

const TIMEOUT_MS = 60_000;

/** As the agent's `request`, which asks Envoy. */
export const command: Command = {
  name: "request",
  use: "request <method> <path> [<body>]",
  short: "Makes an HTTP request to the control plane's monitoring port",
  example: `  # How far every proxy is
  pilot-agent discovery request GET /debug/syncz

  # A rule that lives as long as the server
  pilot-agent discovery request PUT /config "$(cat rule.yaml)"`,
  flags: [{ name: "port", type: "int32", default: 15014, usage: "Port of the server on this machine" }],
  checkArgs: (args) => (args.length < 2 ? `requires at least 2 arg(s), only received ${args.length}` : undefined),
  async run({ args, flags, print }) {
    const [method = "", path = "", body = ""] = args;
    const url = `http://127.0.0.1:${flags.int("port")}/${path.replace(/^\//, "").replaceAll(" ", "%20")}`;
    const response = await sendRequest({ method, url, body, timeoutMs: TIMEOUT_MS });
    if (response.status > 399 && response.status !== 404) {
      throw new Error(`received unsuccessful status code ${response.status}: ${response.body}`);
    }
    print(`${response.body}\n`);
    return 0;
  },
};
