import { errorMessage } from "../../base/coded-error.ts";
import { isMissingFile, readTextLimited } from "../../files/read-file.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import type { FlagValues } from "../framework/flags.ts";

/** What an operator of the reference expects and does not get here, one line each; said at the start. */
export async function discoveryWarnings(flags: FlagValues): Promise<readonly string[]> {
  const lines: (string | undefined)[] = [await networksWarning(flags.string("networksConfig"))];
  if (flags.changed("httpsAddr")) lines.push("No webhooks are served on --httpsAddr: they only run with Kubernetes");
  if (flags.string("configDir") === "") {
    lines.push("No --configDir is given: rules come from the /config API alone and end with the process");
  }
  return lines.filter((line) => line !== undefined);
}

/** A file that names no network, or that is not there, asks for nothing. */
async function networksWarning(path: string): Promise<string | undefined> {
  const effect = "several networks are not supported, endpoints are taken as reachable from everywhere";
  try {
    const document: unknown = await parseYaml(await readTextLimited(path));
    const { networks } = (document ?? {}) as { readonly networks?: unknown };
    const names = Object.keys(networks ?? {});
    return names.length === 0 ? undefined : `Networks of ${path} have no effect (${names.join(", ")}): ${effect}`;
  } catch (thrown) {
    if (isMissingFile(thrown)) return undefined;
    return `Networks of ${path} have no effect: ${effect}; the file cannot be read either: ${errorMessage(thrown)}`;
  }
}
