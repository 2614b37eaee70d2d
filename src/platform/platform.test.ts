import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { createEnvReader, type Environment } from "../settings/env-reader.ts";
import { type Generation, generationRules } from "../settings/generations.ts";
import { readPlatformSettings } from "../settings/platform.ts";
import { startPlatformDetection } from "./detect-platform.ts";
import { parseGcpZone, staticGcpMetadata, zoneOfResolvConf } from "./gcp.ts";
import type { PlatformAccess } from "./platform-access.ts";
import { NO_LOCALITY, NO_PLATFORM } from "./platform-info.ts";

/** Nothing answers here: port 9 of the loopback address is closed. */
const NOWHERE = "127.0.0.1:9";

const nothing: PlatformAccess = {
  awsUrls: [`http://${NOWHERE}`, `http://${NOWHERE}`],
  azureUrl: `http://${NOWHERE}`,
  gcpHost: NOWHERE,
  gcpComputeUrl: `http://${NOWHERE}`,
  readText: async () => "",
  lookup: () => Promise.reject(new Error("no such host")),
  timeouts: { detectionMs: 30_000, awsCallMs: 30_000, azureCallMs: 30_000, gcpProbeMs: 30_000, gcpLookupMs: 30_000 },
};

async function detect(
  env: Environment,
  access: Partial<PlatformAccess> = {},
  options: { generation?: Generation; supportsIpv6?: boolean } = {},
) {
  const rules = generationRules(options.generation ?? "master");
  const settings = readPlatformSettings(
    createEnvReader(env, rules.name, () => undefined),
    rules,
    options.supportsIpv6 ?? false,
  );
  const log = recordLog();
  const lines = log.printed;
  await using detection = startPlatformDetection({ settings, log, access: { ...nothing, ...access } });
  return { info: await detection.result, lines };
}

type Routes = Readonly<Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>>;

/** Answers by path; anything else is 404. */
function serve(routes: Routes, host?: string) {
  return startHttpServer((request, response) => {
    const route = routes[`${request.method} ${request.url}`] ?? routes[request.url ?? ""];
    if (typeof route === "function") return route(request, response);
    response.writeHead(route === undefined ? 404 : 200).end(route);
  }, host);
}

describe("choice", () => {
  test("nothing found ends at once without a line", async () => {
    const { info, lines } = await detect({});
    expect(info).toEqual(NO_PLATFORM);
    expect(lines).toEqual([]);
  });

  test.each(["none", "NONE"])("%s does not look at all", async (word) => {
    const { info } = await detect({ CLOUD_PLATFORM: word }, { readText: async () => "Microsoft Corporation" });
    expect(info.name).toBe("none");
  });

  test("a detection that finds no end is given up on", async () => {
    await using silent = await startHttpServer(() => undefined);
    const host = `127.0.0.1:${silent.port}`;
    const timeouts = { ...nothing.timeouts, detectionMs: 30 };
    const { info, lines } = await detect(
      {},
      {
        gcpHost: host,
        awsUrls: [`http://${host}`, `http://${host}`],
        lookup: () => new Promise(() => undefined),
        timeouts,
      },
    );
    expect(info).toEqual(NO_PLATFORM);
    expect(lines).toEqual(["info timed out waiting for platform detection, treating it as Unknown"]);
  });

  test("a stop ends a running detection, and twice is once", async () => {
    await using silent = await startHttpServer(() => undefined);
    const rules = generationRules("master");
    const settings = readPlatformSettings(
      createEnvReader({}, "master", () => undefined),
      rules,
      false,
    );
    const access = {
      ...nothing,
      gcpHost: `127.0.0.1:${silent.port}`,
      lookup: () => new Promise<never>(() => undefined),
    };
    const detection = startPlatformDetection({ settings, log: recordLog(), access });
    await Promise.all([detection.stop(), detection.stop()]);
    expect(await detection.result).toEqual(NO_PLATFORM);
  });
});

describe("AWS", () => {
  const values: Routes = {
    "PUT /latest/api/token": (request, response) => {
      expect(request.headers["x-aws-ec2-metadata-token-ttl-seconds"]).toBe("60");
      response.end("t0ken");
    },
    "/latest/meta-data/iam/info": (request, response) => {
      response
        .writeHead(request.headers["x-aws-ec2-metadata-token"] === "t0ken" ? 200 : 401)
        .end('{"InstanceProfileArn":"arn:aws:iam::1:instance-profile/x"}');
    },
    "/latest/meta-data/placement/region": "us-west-2",
    "/latest/meta-data/placement/availability-zone": "us-west-2b",
    "/latest/meta-data/instance-id": "i-1",
    "/latest/dynamic/instance-identity/document":
      '{"region":"r","availabilityZone":"z","instanceId":"i","accountId":"a","other":5}',
  };
  const aws = (port: number): Partial<PlatformAccess> => ({
    awsUrls: [`http://127.0.0.1:${port}`, `http://${NOWHERE}`],
  });

  test("is detected by its role and gives region and zone", async () => {
    await using server = await serve(values);
    const { info, lines } = await detect({}, aws(server.port));
    expect(lines).toEqual(["info platform detected is AWS"]);
    expect(info).toEqual({
      name: "aws",
      metadata: { aws_region: "us-west-2", aws_availability_zone: "us-west-2b", aws_instance_id: "i-1" },
      locality: { region: "us-west-2", zone: "us-west-2b", subzone: "" },
      labels: {},
      isKubernetes: true,
    });
    expect(Object.isFrozen(info.metadata)).toBe(true);
  });

  test("works without a token", async () => {
    const { "PUT /latest/api/token": _none, ...others } = values;
    await using server = await serve({ ...others, "/latest/meta-data/iam/info": "arn:aws:iam" });
    expect((await detect({}, aws(server.port))).info.name).toBe("aws");
  });

  test("a dual-stack pod finds the service on either address", async () => {
    await using server = await serve(values);
    const second = { awsUrls: [`http://${NOWHERE}`, `http://127.0.0.1:${server.port}`] as const };
    expect((await detect({}, second, { supportsIpv6: true })).info.metadata.aws_region).toBe("us-west-2");
    expect((await detect({}, second)).info.name).toBe("none");
  });

  test("an instance without a role is not detected, but may be forced", async () => {
    const { "/latest/meta-data/iam/info": _none, ...others } = values;
    await using server = await serve(others);
    expect((await detect({}, aws(server.port))).info.name).toBe("none");
    const { info, lines } = await detect({ CLOUD_PLATFORM: "AWS" }, aws(server.port));
    expect([info.metadata.aws_instance_id, lines]).toEqual(["i-1", []]);
  });

  test("failing answers leave an empty locality", async () => {
    await using server = await startHttpServer((_, response) => response.writeHead(500).end("boom"));
    expect((await detect({ CLOUD_PLATFORM: "aws" }, aws(server.port))).info).toMatchObject({
      metadata: {},
      locality: NO_LOCALITY,
    });
  });

  test("1.7 reads the identity document", async () => {
    await using server = await serve(values);
    const { info } = await detect({}, aws(server.port), { generation: "1.7" });
    expect(info.metadata).toEqual({
      aws_region: "r",
      aws_availability_zone: "z",
      aws_instance_id: "i",
      aws_account_id: "a",
    });
  });
});

describe("Azure", () => {
  const vendor = async (path: string) => (path === "/sys/class/dmi/id/sys_vendor" ? "Microsoft Corporation\n" : "");
  const instance = {
    compute: {
      name: "vm",
      location: "eastus",
      vmId: "id",
      zone: "2",
      tagsList: [{ name: "a", value: "b" }, { name: "c" }],
    },
  };

  async function azure(routes: Routes) {
    await using server = await serve(routes);
    return await detect({}, { readText: vendor, azureUrl: `http://127.0.0.1:${server.port}` });
  }
  const versions = (list: unknown) => (request: IncomingMessage, response: ServerResponse) => {
    expect(request.headers.metadata).toBe("True");
    response.writeHead(400).end(JSON.stringify({ error: "Bad request", "newest-versions": list }));
  };

  test.each([
    { list: [], asked: "2019-08-15" },
    { list: ["2018-10-01", ""], asked: "2019-08-15" },
    { list: ["2020-06-01", "2021-12-13", "2019-11-01"], asked: "2021-12-13" },
    { list: "odd", asked: "2019-08-15" },
    { list: [5, null, "2020-06-01"], asked: "2020-06-01" },
  ])("of the versions $list it asks for $asked", async ({ list, asked }) => {
    const { info, lines } = await azure({
      "/metadata/instance": versions(list),
      [`/metadata/instance?api-version=${asked}`]: JSON.stringify(instance),
    });
    expect(lines).toEqual(["info platform detected is Azure"]);
    expect(info).toMatchObject({
      name: "azure",
      metadata: { azure_name: "vm", azure_location: "eastus", azure_vmId: "id", azure_a: "b", azure_c: "" },
      locality: { region: "eastus", zone: "2" },
    });
  });

  test("older services give tags as one text", async () => {
    const body = JSON.stringify({ compute: { tags: "a:b:c;d;e:" } });
    const { info } = await azure({ "/metadata/instance?api-version=2019-08-15": body });
    expect(info.metadata).toEqual({ azure_a: "b:c", azure_d: "", azure_e: "" });
  });

  test.each([
    "not json",
    "null",
    "[]",
    '{"compute":5}',
    '{"compute":{"name":5,"tagsList":[1,null,{"name":7}],"location":{}}}',
    '{"compute":{"tagsList":null,"tags":[]}}',
  ])("unexpected JSON %s gives nothing and does not throw", async (body) => {
    expect((await azure({ "/metadata/instance?api-version=2019-08-15": body })).info).toMatchObject({
      name: "azure",
      metadata: {},
      locality: NO_LOCALITY,
    });
  });

  test("the body of an error is not an instance", async () => {
    const failing = (_: IncomingMessage, response: ServerResponse) =>
      response.writeHead(500).end(JSON.stringify(instance));
    expect((await azure({ "/metadata/instance?api-version=2019-08-15": failing })).info.metadata).toEqual({});
  });
});

describe("GCP", () => {
  const base = "/computeMetadata/v1/";
  const flavored = (text: string) => (request: IncomingMessage, response: ServerResponse) => {
    const known = request.headers["metadata-flavor"] === "Google";
    response.writeHead(known ? 200 : 403).end(text);
  };
  const root = (_: IncomingMessage, response: ServerResponse) => response.setHeader("Metadata-Flavor", "Google").end();
  const routes: Routes = {
    "/": root,
    [`${base}project/project-id`]: flavored("proj"),
    [`${base}project/numeric-project-id`]: flavored("123"),
    [`${base}instance/attributes/cluster-location`]: flavored("us-central1\n"),
    [`${base}instance/attributes/cluster-name`]: flavored("c1"),
    [`${base}instance/name`]: flavored("vm"),
    [`${base}instance/id`]: flavored("77"),
    [`${base}instance/zone`]: flavored("projects/123/zones/us-central1-f"),
  };
  /** The name server takes its time, so the HTTP answer is the first. */
  const at = (port: number): Partial<PlatformAccess> => ({
    gcpHost: `127.0.0.1:${port}`,
    lookup: () => new Promise(() => undefined),
  });
  const NO_ZONE_FILE = "warn Failed to load the zone name of the pod from resolv.conf";

  test("is detected by its header and gives what the server knows", async () => {
    await using server = await serve(routes);
    const { info, lines } = await detect({}, at(server.port));
    expect(lines).toEqual(["info platform detected is GCP", NO_ZONE_FILE]);
    expect(info).toEqual({
      name: "gcp",
      metadata: {
        gcp_project: "proj",
        gcp_project_number: "123",
        gcp_location: "us-central1",
        gcp_gke_cluster_name: "c1",
        gcp_gce_instance: "vm",
        gcp_gce_instance_id: "77",
        gcp_gke_cluster_url: "https://container.googleapis.com/v1/projects/proj/locations/us-central1/clusters/c1",
      },
      locality: { region: "us-central1", zone: "us-central1-f", subzone: "" },
      labels: {},
      isKubernetes: true,
    });
  });

  test("is detected by name where the firmware says Google, even when the HTTP probe fails first", async () => {
    const readText = async (path: string) => (path.endsWith("product_name") ? "Google Compute Engine\n" : "");
    const { lines } = await detect({}, { readText, lookup: async () => ["169.254.169.254"] });
    expect(lines[0]).toBe("info platform detected is GCP");
  });

  test("elsewhere the first answer counts, so that an unknown name ends the probe", async () => {
    await using server = await serve(routes);
    expect((await detect({}, { gcpHost: `127.0.0.1:${server.port}` })).info.name).toBe("none");
  });

  test("a failed project lookup leaves out project and cluster address", async () => {
    const { [`${base}project/project-id`]: _none, ...others } = routes;
    await using server = await serve(others);
    const { info } = await detect({}, at(server.port));
    expect(info.metadata).toMatchObject({ gcp_gke_cluster_name: "c1" });
    expect(Object.keys(info.metadata)).not.toContain("gcp_project");
    expect(Object.keys(info.metadata)).not.toContain("gcp_gke_cluster_url");
  });

  test("GCE_METADATA_HOST names another server", async () => {
    await using server = await serve(routes);
    const { info } = await detect({ GCE_METADATA_HOST: `127.0.0.1:${server.port}` });
    expect(info.metadata.gcp_project).toBe("proj");
  });

  test("static metadata makes no lookup", async () => {
    const { info, lines } = await detect({
      GCP_METADATA: "p|1|c|us-east1",
      GCP_ZONE: "us-east1-b",
      GCP_QUOTA_PROJECT: "q",
    });
    expect(lines).toEqual(["info platform detected is GCP"]);
    expect(info.metadata).toMatchObject({ gcp_project: "p", gcp_quota_project: "q", gcp_zone: "us-east1-b" });
    expect(info.locality.region).toBe("us-east1");
  });

  test("a machine outside Kubernetes gets its labels from the compute API", async () => {
    const { [`${base}instance/attributes/cluster-name`]: _none, ...others } = routes;
    await using server = await serve({
      ...others,
      [`${base}instance/service-accounts/default/token`]: flavored('{"access_token":"abc"}'),
      "/compute/v1/projects/proj/zones/us-central1-f/instances/vm": (request, response) => {
        response
          .writeHead(request.headers.authorization === "Bearer abc" ? 200 : 401)
          .end('{"labels":{"app":"web","odd":5}}');
      },
    });
    const access = { ...at(server.port), gcpComputeUrl: `http://127.0.0.1:${server.port}` };
    expect((await detect({}, access)).info).toMatchObject({ isKubernetes: false, labels: { app: "web" } });
    expect((await detect({ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, access)).info).toMatchObject({
      isKubernetes: true,
      labels: {},
    });
  });

  test("labels that cannot be had warn", async () => {
    const { [`${base}instance/attributes/cluster-name`]: _none, ...others } = routes;
    await using server = await serve(others);
    const { info, lines } = await detect({}, at(server.port));
    expect(info.labels).toEqual({});
    expect(lines.at(-1)).toMatch(/^warn unable to retrieve instance labels: /);
  });

  test("a zone that lies in no region warns and gives no locality", async () => {
    const { info, lines } = await detect({ GCP_METADATA: "p|1|c|l", GCP_ZONE: "us-central1" });
    expect(info.locality).toEqual(NO_LOCALITY);
    expect(lines).toContain(
      "warn Error fetching GCP region from zone us-central1: unable to extract region from GCP zone: us-central1",
    );
  });

  test("a forced GCP away from Google has no metadata", async () => {
    const { info, lines } = await detect({ CLOUD_PLATFORM: "gcp" });
    expect(info).toMatchObject({ name: "gcp", metadata: {}, locality: NO_LOCALITY });
    expect(lines[1]).toMatch(/^warn Error fetching GCP zone from the metadata server: /);
  });

  test.each([
    { zone: "us-central1-f", region: "us-central1" },
    { zone: "us-central1", region: undefined },
    { zone: "", region: undefined },
    { zone: "a-b-c-d", region: undefined },
  ])("zone $zone lies in $region", ({ zone, region }) => expect(parseGcpZone(zone)?.region).toBe(region));

  test.each([
    { text: "nameserver 1.1.1.1\nsearch a.svc us-east4-a.c.my-proj.internal google.internal\n", zone: "us-east4-a" },
    { text: "nameserver 1.1.1.1\noptions x us-east4-a.c.my-proj.internal\n", zone: undefined },
    { text: "search c.my-proj.internal\n", zone: undefined },
    { text: "", zone: undefined },
  ])("$text names $zone", ({ text, zone }) => expect(zoneOfResolvConf(text)).toBe(zone));

  test("static metadata needs four parts", () => {
    const others = { gcpQuotaProject: "", gcpZone: "" };
    expect(staticGcpMetadata({ gcpMetadata: "p|1|c", ...others })).toEqual({});
    expect(staticGcpMetadata({ gcpMetadata: "p|1||z", ...others })).toEqual({
      gcp_project: "p",
      gcp_project_number: "1",
      gcp_location: "z",
    });
  });
});
