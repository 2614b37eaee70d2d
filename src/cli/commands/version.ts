import { type BuildStamp, buildStamp } from "../../base/build-stamp.ts";
import type { Command } from "../framework/command.ts";

export const command: Command = {
  name: "version",
  use: "version",
  short: "Prints out build version information",
  example: `  # One line for scripts
  pilot-agent version --short

  # Everything, for a machine
  pilot-agent version -o json`,
  flags: [
    {
      name: "short",
      short: "s",
      type: "bool",
      default: false,
      usage: "Use --short=false to generate full version information",
    },
    { name: "output", short: "o", type: "string", default: "", usage: "One of 'yaml' or 'json'." },
  ],
  async run({ flags, print }) {
    print(versionText(buildStamp, process.versions.node, flags.string("output"), flags.bool("short")));
    return 0;
  },
};

/** `golang_version` keeps its name for readers of the reference's output; it carries the runtime that really is underneath. */
export function versionText(stamp: BuildStamp, node: string, output: string, short: boolean): string {
  const runtime = `node${node}`;
  switch (output) {
    case "":
      if (short) return `client version: ${stamp.version}\n`;
      return `client version: version.BuildInfo{Version:"${stamp.version}", GitRevision:"${stamp.revision}", GolangVersion:"${runtime}", BuildStatus:"${stamp.status}", GitTag:"${stamp.tag}"}\n`;
    case "json": {
      const { version, revision, status, tag } = stamp;
      return `${JSON.stringify({ clientVersion: { version, revision, golang_version: runtime, status, tag } }, undefined, 2)}\n`;
    }
    case "yaml": {
      const rows = [
        ["golang_version", runtime],
        ["revision", stamp.revision],
        ["status", stamp.status],
        ["tag", stamp.tag],
        ["version", stamp.version],
      ];
      return `clientVersion:\n${rows.map(([key, value]) => `  ${key}: ${yamlScalar(value ?? "")}\n`).join("")}\n`;
    }
    default:
      throw new Error("--output must be 'yaml' or 'json'");
  }
}

/** A revision such as 12345678 or 1e5 would read as a number without quotes. */
function yamlScalar(text: string): string {
  return text === "" || !Number.isNaN(Number(text)) ? JSON.stringify(text) : text;
}
