import { readFile } from "node:fs/promises";
import type { Logger } from "../base/logger.ts";
import type { PlatformInfo, PlatformName, PlatformSettings } from "./platform-info.ts";

/** Everything outside the process that detection touches; tests point it to servers of their own. */
export interface PlatformAccess {
  /** Base URLs of AWS's metadata service: IPv4 first, then IPv6. */
  readonly awsUrls: readonly [string, string];
  readonly azureUrl: string;
  /** Host or host:port of GCP's metadata server. */
  readonly gcpHost: string;
  readonly gcpComputeUrl: string;
  /** Text of a file, "" when it cannot be read. */
  readText(path: string): Promise<string>;
  /** Addresses of a name; rejects when there are none. */
  lookup(host: string): Promise<readonly string[]>;
  readonly timeouts: PlatformTimeouts;
}

export interface PlatformTimeouts {
  readonly detectionMs: number;
  readonly awsCallMs: number;
  readonly azureCallMs: number;
  readonly gcpProbeMs: number;
  readonly gcpLookupMs: number;
}

/** What a platform's file is given. */
export interface PlatformContext {
  readonly settings: PlatformSettings;
  readonly access: PlatformAccess;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One platform. All are asked at once, so the order decides nothing. */
export interface Cloud {
  readonly name: PlatformName;
  readonly title: string;
  detect(context: PlatformContext): Promise<boolean>;
  read(context: PlatformContext): Promise<PlatformInfo>;
}

/** Link-local address on which AWS, Azure and GCP all serve their metadata. */
export const METADATA_ADDRESS = "169.254.169.254";

export const cloudAccess: PlatformAccess = {
  awsUrls: [`http://${METADATA_ADDRESS}`, "http://[fd00:ec2::254]"],
  azureUrl: `http://${METADATA_ADDRESS}`,
  gcpHost: METADATA_ADDRESS,
  gcpComputeUrl: "https://compute.googleapis.com",
  readText: (path) => readFile(path, "utf8").catch(() => ""),
  lookup: async (host) => {
    // Loading it reads the resolver's configuration, which is not needed where no cloud is detected.
    const { lookup } = await import("node:dns/promises");
    return (await lookup(host, { all: true })).map(({ address }) => address);
  },
  // Nothing waits for these answers, so an instance under load may take its second.
  timeouts: { detectionMs: 5000, awsCallMs: 1000, azureCallMs: 5000, gcpProbeMs: 5000, gcpLookupMs: 10_000 },
};
