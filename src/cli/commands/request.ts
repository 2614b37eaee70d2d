import { quoteGo } from "../../base/go-quote.ts";
import type { Command } from "../framework/command.ts";
import { sendRequest } from "./loopback-request.ts";

const ALLOWED_PORTS: readonly number[] = [15000, 15004, 15020, 15021];
const TIMEOUT_MS = 60_000;

export const command: Command = {
  name: "request",
  use: "request <method> <path> [<body>]",
  short: "Makes an HTTP request to the Envoy admin API",
  example: `  # Envoy's whole configuration
  pilot-agent request GET config_dump

  # Start draining through the agent's status port
  pilot-agent request --debug-port=15020 POST drain`,
  flags: [
    {
      name: "debug-port",
      type: "int32",
      default: 15000,
      usage: "Set the port to make a local request to. The default points to the Envoy admin API.",
    },
  ],
  checkArgs: (args) => (args.length < 2 ? `requires at least 2 arg(s), only received ${args.length}` : undefined),
  async run({ args, flags, print }) {
    const [method = "", path = "", body = ""] = args;
    const port = flags.int("debug-port");
    if (!ALLOWED_PORTS.includes(port)) {
      throw new Error(`debug port ${port} is not in allowed list [${ALLOWED_PORTS.join(" ")}]`);
    }
    const url = requestUrl(port, path);
    if (hasControlCharacter(url)) throw new Error(`parse ${quoteGo(url)}: net/url: invalid control character in URL`);
    const response = await sendRequest({ method, url, body, timeoutMs: TIMEOUT_MS });
    if (response.status > 399 && response.status !== 404) {
      throw new Error(`received unsuccessful status code ${response.status}: ${response.body}`);
    }
    // Byte by byte: profiles and protobuf are not text.
    print(`${response.bytes.toString("latin1")}\n`, "latin1");
    return 0;
  },
};

function hasControlCharacter(text: string): boolean {
  return [...text].some((letter) => letter < " " || letter === "\x7f");
}

/** One leading slash is optional; spaces are encoded, everything else is sent as written. */
export function requestUrl(port: number, path: string): string {
  return `http://localhost:${port}/${path.replace(/^\//, "").replaceAll(" ", "%20")}`;
}
