import { httpRequest } from "../net/http-client/http-request.ts";
import type { PlatformContext } from "./platform-access.ts";
import { NO_PLATFORM, type PlatformInfo } from "./platform-info.ts";

const SYS_VENDOR = "/sys/class/dmi/id/sys_vendor";
/** The first version with tagsList, and what is used when the service names none. */
const MINIMUM_VERSION = "2019-08-15";

export async function detectAzure({ access }: PlatformContext): Promise<boolean> {
  return (await access.readText(SYS_VENDOR)).includes("Microsoft Corporation");
}

export async function readAzure(context: PlatformContext): Promise<PlatformInfo> {
  const version = newestVersion(await getJson(context, "", true));
  const compute = member(await getJson(context, `api-version=${version}`, false), "compute");
  const metadata: Record<string, string> = {};
  for (const name of ["name", "location", "vmId"]) {
    const value = text(member(compute, name));
    if (value !== "") metadata[`azure_${name}`] = value;
  }
  for (const [name, value] of tags(compute)) metadata[`azure_${name}`] = value;
  const locality = { region: text(member(compute, "location")), zone: text(member(compute, "zone")), subzone: "" };
  return { ...NO_PLATFORM, name: "azure", metadata, locality };
}

/** A request without a version is refused with the list of versions. Text order is date order. */
function newestVersion(answer: unknown): string {
  const versions = member(answer, "newest-versions");
  const texts = Array.isArray(versions)
    ? versions.filter((version): version is string => typeof version === "string")
    : [];
  return [MINIMUM_VERSION, ...texts].sort().at(-1) ?? MINIMUM_VERSION;
}

/** Undefined for anything but JSON; an error answer counts only where it carries the wanted list. */
async function getJson({ access, signal }: PlatformContext, query: string, acceptsError: boolean): Promise<unknown> {
  try {
    const url = `${access.azureUrl}/metadata/instance?${query}`;
    const { status, body } = await httpRequest({
      url,
      headers: { Metadata: "True" },
      timeoutMs: access.timeouts.azureCallMs,
      signal,
    });
    return status === 200 || acceptsError ? JSON.parse(body) : undefined;
  } catch {
    return undefined;
  }
}

/** `tagsList` where the service has it, else `tags` as "a:b;c". */
function tags(compute: unknown): readonly (readonly [string, string])[] {
  const list = member(compute, "tagsList");
  if (Array.isArray(list)) {
    return list.flatMap((tag) =>
      text(member(tag, "name")) === "" ? [] : [[text(member(tag, "name")), text(member(tag, "value"))] as const],
    );
  }
  const joined = text(member(compute, "tags"));
  if (joined === "") return [];
  return joined.split(";").map((tag) => {
    const colon = tag.indexOf(":");
    return colon === -1 ? ([tag, ""] as const) : ([tag.slice(0, colon), tag.slice(colon + 1)] as const);
  });
}

/** The service's answers are not trusted to have any particular shape. */
function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
