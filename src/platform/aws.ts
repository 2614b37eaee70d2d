import { httpRequest } from "../net/http-client/http-request.ts";
import { metadataText } from "./metadata-text.ts";
import type { PlatformContext } from "./platform-access.ts";
import { NO_PLATFORM, type PlatformInfo } from "./platform-info.ts";

const METADATA = "/latest/meta-data/";

/** Instances with a role can see it; anything else answers 404 there or not at all. */
export async function detectAws(context: PlatformContext): Promise<boolean> {
  return Promise.any(endpoints(context).map((base) => requireRole(context, base))).catch(() => false);
}

/** Values the metadata service does not give are left out. */
export async function readAws(context: PlatformContext): Promise<PlatformInfo> {
  const found = await Promise.any(endpoints(context).map((base) => readFrom(context, base))).catch(() => ({}));
  const metadata: Readonly<Record<string, string>> = found;
  const { aws_region: region = "", aws_availability_zone: zone = "" } = metadata;
  return { ...NO_PLATFORM, name: "aws", metadata, locality: { region, zone, subzone: "" } };
}

/** A dual-stack pod may reach either; whichever answers counts. */
function endpoints({ access, settings }: PlatformContext): readonly string[] {
  return settings.supportsIpv6 ? access.awsUrls : access.awsUrls.slice(0, 1);
}

/** Rejects instead of answering no, so that the first endpoint to say yes wins. */
async function requireRole(context: PlatformContext, base: string): Promise<true> {
  const info = await get(context, base, "iam/info", await readToken(context, base));
  if (!info.includes("arn:aws:iam")) throw new Error("no instance role");
  return true;
}

async function readFrom(context: PlatformContext, base: string): Promise<Readonly<Record<string, string>>> {
  const token = await readToken(context, base);
  if (context.settings.awsIdentityDocument) return readIdentityDocument(context, base, token);
  const names = {
    aws_region: "placement/region",
    aws_availability_zone: "placement/availability-zone",
    aws_instance_id: "instance-id",
  };
  const values = await Promise.all(
    Object.entries(names).map(
      async ([key, path]) => [key, await get(context, base, path, token).catch(() => "")] as const,
    ),
  );
  const present = values.filter(([, value]) => value !== "");
  if (present.length === 0) throw new Error("no metadata");
  return Object.fromEntries(present);
}

/** One signed document instead of single values; members of another type than text are left out. */
async function readIdentityDocument(
  context: PlatformContext,
  base: string,
  token: string,
): Promise<Readonly<Record<string, string>>> {
  const text = await getUrl(context, `${base}/latest/dynamic/instance-identity/document`, token);
  const document: unknown = JSON.parse(text);
  const names = {
    aws_region: "region",
    aws_availability_zone: "availabilityZone",
    aws_instance_id: "instanceId",
    aws_account_id: "accountId",
  };
  const member = (key: string) => (document as Record<string, unknown> | null)?.[key];
  const values = Object.entries(names).map(([name, key]) => [name, member(key)] as const);
  return Object.fromEntries(values.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string"));
}

/** Without a token the request falls back to the first version of the service, which needs none. */
async function readToken({ access, signal }: PlatformContext, base: string): Promise<string> {
  const headers = { "X-aws-ec2-metadata-token-ttl-seconds": "60" };
  try {
    const { status, body } = await httpRequest({
      url: `${base}/latest/api/token`,
      method: "PUT",
      headers,
      timeoutMs: access.timeouts.awsCallMs,
      signal,
    });
    return status === 200 ? body : "";
  } catch {
    return "";
  }
}

function get(context: PlatformContext, base: string, path: string, token: string): Promise<string> {
  return getUrl(context, base + METADATA + path, token);
}

function getUrl({ access, signal }: PlatformContext, url: string, token: string): Promise<string> {
  const headers: Record<string, string> = token === "" ? {} : { "X-aws-ec2-metadata-token": token };
  return metadataText(url, { headers, timeoutMs: access.timeouts.awsCallMs, signal });
}
